import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '../../../harness/common/defined.ts';
import { ownedFolder } from '../../../harness/common/owner.ts';
import type { Output } from '../../../harness/common/terminal.ts';
import type { RunProcess } from '../measure/costs.ts';
import { phaseLabel } from '../measure/metrics.ts';
import { AnswerSampler, type AnswersTold } from '../platform/answers.ts';
import { type PlatformAddress, PlatformClient, type ReleaseFixture } from '../platform/client.ts';
import { NoWorkerLeft, Workers } from '../processes/workers.ts';
import type { FleetResult, Judged, Tick } from '../result/result.ts';
import { type Phase, robotName, TRAFFIC_NAMES, uplinkOf } from '../scenario/scenario.ts';
import { membersOf, monotonicMs, type Shard } from '../schedule/schedule.ts';
import type { StateChanges, StopMode, Worker, WorkerConfig, WorkerNotice } from '../worker/worker.ts';
import { baseDirFor, connectionsFor, robotCost } from './capacity.ts';
import { FleetRecord, type Measured, type PhaseReport } from './record.ts';

/** Judge of the platform's answers, provided by the caller, because a fleet does not know the requirements. */
export interface AnswerJudge extends AsyncDisposable {
  readonly ready: Promise<void>;
  take(told: AnswersTold): void;
  readonly judged: Judged;
  readonly faults: readonly string[];
  settle(): Promise<void>;
}

type OfWorkers = 'robots' | 'scenario' | 'seed' | 'connections' | 'keyBits' | 'stateDir' | 'keep' | 'defects';

interface CommonOptions extends Pick<WorkerConfig, OfWorkers> {
  shard?: Shard;
  /** Default: `/dev/shm` if the robots' files fit, else `tmpdir()`. */
  dir?: string;
  namePrefix?: string;
  /** Milliseconds without a message after which a worker counts as lost. Default 60,000. */
  silentMs?: number;
  /** Maximum milliseconds for a set-up request and its retries. Default 60,000. */
  setUpMs?: number;
}

export interface FleetOptions extends CommonOptions, Pick<WorkerConfig, 'platform' | 'offer'> {
  workers: number;
  onKeys?(done: number, of: number): void;
  onSecond?(tick: Tick): void;
  onStates?(changes: StateChanges): void;
  judge?: AnswerJudge;
}

export interface RunIdentity {
  /** Id that no other run has, and all shards of the run share. */
  runId: string;
  /** Job that runs the shard, e.g. of Kubernetes; only the same job may repeat the shard. */
  jobId?: string;
  startWithinMs: number;
}

export interface SoakOptions {
  /** Milliseconds after the start of the robots, within which phases repeat. */
  forMs: number;
  everyMs: number;
}

export interface RunOptions extends CommonOptions {
  identity?: RunIdentity;
  platform: PlatformAddress | 'embedded' | undefined;
  /** Devices for robots with the uplinks `polling` and `calls`. Default: devices that the platform lists. */
  devices?: readonly string[];
  workers?: number;
  out: string;
  thresholds: readonly string[];
  abortOn?: readonly string[];
  metrics?: { port: number; host: string };
  ui?: { port: number };
  judging?: (platform: PlatformAddress) => AnswerJudge;
  force?: boolean;
  soak?: SoakOptions;
  screen: Output;
  version: string;
  /** Receives the result before its files are written, so that a full disk cannot lose the result. */
  onResult?(result: FleetResult): void;
  signal: AbortSignal;
}

/** Milliseconds before a phase, in which workers compute the times of the robots' actions. */
const leadMs = (phase: Phase, robots: number): number =>
  LEAD_MS + robots * STREAM_MS * (1 + TRAFFIC_NAMES.filter((name) => phase[name] !== undefined).length);
const LEAD_MS = 50;
/** Milliseconds to prepare one stream of actions, in code that V8 has not yet optimized. */
const STREAM_MS = 0.02;

/** Maximum bytes per second of answers for the judge, to limit its processor time. */
const SAMPLED_BYTES = 256 * 1024;

/** Call `prepare`, then `run` for each phase, then `finish` and `stop`. */
export class Fleet implements AsyncDisposable {
  readonly options: FleetOptions;
  readonly members: number[];
  readonly namePrefix: string;
  readonly record = new FleetRecord();
  readonly dir: string;
  readonly #workers: Workers;
  readonly #client: PlatformClient | undefined;
  #clock: NodeJS.Timeout | undefined;
  #stopping: Promise<void> | undefined;
  readonly #releases = { round: 0, named: new Map<string, ReleaseFixture>() };

  constructor(options: FleetOptions) {
    this.options = options;
    const { robots, scenario, shard, dir, setUpMs } = options;
    const cost = robotCost(scenario);
    this.members = membersOf(robots, shard);
    this.namePrefix = options.namePrefix ?? 'robot';
    const { connections = connectionsFor(Math.ceil(this.members.length / this.#workerCount), cost) } = options;
    this.record.connections = connections;
    const fields = TRAFFIC_NAMES.filter((name) => scenario.phases.some((phase) => phase[name] !== undefined));
    this.record.rates = { fields, part: this.members.length / robots };
    const { platform, judge } = options;
    const phase = (): string => this.record.phase;
    const tell: AnswerJudge['take'] = (told) => judge?.take(told);
    const sampler = platform && judge && new AnswerSampler({ platform, bytesPerSecond: SAMPLED_BYTES, phase, tell });
    const onAnswer = sampler?.take;
    this.#client = platform && new PlatformClient(defined({ ...platform, connections: 8, setUpMs, onAnswer }));
    const base = baseDirFor(this.members.length * cost.memoryDiskBytes, dir);
    // Leaves the owner out of the name of a kept folder, so that no later process removes the folder.
    this.dir = options.keep === true ? mkdtempSync(join(base, 'muster-kept-')) : ownedFolder('fleet', base);
    this.#workers = new Workers({
      configs: this.#workerConfigs(connections),
      processes: options.workers > 0,
      silentMs: options.silentMs,
      onNotice: (worker, notice) => this.#hear(worker, notice),
      onLost: (worker, reason) => {
        this.record.progress.lose(worker);
        this.record.incomplete.push(reason);
      },
    });
  }

  get robots(): number {
    return this.members.length;
  }

  get #workerCount(): number {
    return Math.max(this.options.workers, 1);
  }

  #workerConfigs(connections: number): WorkerConfig[] {
    const { robots, seed, scenario, platform, keyBits, stateDir, workers } = this.options;
    const { defects, keep, offer, onStates, judge } = this.options;
    const { namePrefix } = this;
    const sampled = judge && SAMPLED_BYTES / this.#workerCount;
    const watched = onStates === undefined ? undefined : true;
    return Array.from({ length: this.#workerCount }, (_, number) => ({
      name: workers === 0 ? 'this process' : `worker ${number + 1}`,
      members: this.members.filter((_member, position) => position % this.#workerCount === number),
      robots,
      seed,
      scenario,
      platform,
      connections,
      keyBits,
      namePrefix,
      stateDir,
      robotsDir: join(this.dir, 'r', String(number)),
      socketsDir: join(this.dir, 's', String(number)),
      ...defined({ defects, keep, offer, sampled, watched }),
    }));
  }

  robotName(index: number): string {
    return robotName(this.namePrefix, index);
  }

  robotDir(index: number): string {
    return join(this.dir, 'r', this.#workerOf(index), String(index));
  }

  robotSocket(index: number): string {
    return join(this.dir, 's', this.#workerOf(index), String(index));
  }

  #workerOf(index: number): string {
    const position = this.members.indexOf(index);
    if (position < 0) throw new RangeError(`robot ${index} is not in this shard of ${this.options.robots} robots`);
    return String(position % this.#workerCount);
  }

  get processes(): RunProcess[] {
    const workers = this.#workers.pids.map((pid) => ({ pid, role: 'workers' as const }));
    return [{ pid: process.pid, role: 'parent' }, ...workers];
  }

  get online(): number {
    const { isUp, progress, notStarted } = this.record;
    const seen = progress.latest?.robots['online'] ?? 0;
    return isUp ? Math.max(seen, this.robots - notStarted) : seen;
  }

  /** Call before `prepare`. Resolves with a reason not to start the fleet; a slow start adds to `warnings`. */
  async runCanary(warnings: string[]): Promise<string | undefined> {
    const { platform, scenario, defects = {} } = this.options;
    if (platform === undefined || (scenario.uplink ?? 'agent') === 'none') return undefined;
    const { worker, members } = await this.#workers.first();
    const sound = members.filter((robot) => defects[robot] === undefined);
    for (const robots of Map.groupBy(sound, (robot) => uplinkOf(scenario, robot)).values()) {
      const failure = await this.#canaryOf(worker, robots, warnings);
      if (failure !== undefined) return failure;
    }
    return undefined;
  }

  async #canaryOf(worker: Worker, robots: readonly number[], warnings: string[]): Promise<string | undefined> {
    let failure: string | undefined;
    // Tries the last robot too, because the platform may refuse only the first, e.g. for a taken name.
    for (const robot of new Set([...robots.slice(0, 1), ...robots.slice(-1)])) {
      // Ignores a dead worker, which `prepare` reports.
      const outcome = await worker.runCanary(robot).catch(() => undefined);
      if (outcome === undefined || outcome.end === 'online') return undefined;
      if (outcome.end === 'slow') {
        warnings.push(outcome.message);
        return undefined;
      }
      failure ??= outcome.message;
      if (outcome.end === 'fatal') break;
    }
    return failure;
  }

  async prepare(): Promise<void> {
    await this.#workers.start();
    await this.#workers.each((worker) => worker.prepare());
    // A timer that starts after `stop` would never be cleared.
    if (this.#stopping === undefined) this.#clock = setInterval(() => this.#second(), 1000);
  }

  async run(phase: Phase, given: { index?: number; round?: number; release?: ReleaseFixture } = {}) {
    const { record } = this;
    const { index = record.phases.length, round = 0 } = given;
    record.phase = phase.do;
    const idleRss = phase.do === 'ramp' ? await this.#rss() : 0;
    const release =
      phase.do === 'rollout' ? (given.release ?? (await this.#releaseOf(phase.release, index, round))) : undefined;
    const epoch = monotonicMs() + leadMs(phase, this.robots);
    const request = defined({ index, round, release, label: phaseLabel(index, phase.do), phase, epoch });
    record.beginPhase({ phase, index, epoch });
    const outcomes = await this.#workers.each((worker) => worker.runPhase(request));
    const report = record.endPhase({ phase, index, epoch }, outcomes);
    if (phase.do === 'ramp')
      record.rssBytesPerRobot = Math.max(0, ((await this.#rss()) - idleRss) / Math.max(this.robots, 1));
    return report;
  }

  /** Phases with the same release name share one release in each pass. */
  async #releaseOf(name: string | undefined, index: number, round: number): Promise<ReleaseFixture> {
    const { named } = this.#releases;
    if (round !== this.#releases.round) named.clear();
    this.#releases.round = round;
    const release =
      (name === undefined ? undefined : named.get(name)) ?? (await this.createRelease(name ?? `phase ${index}`));
    if (name !== undefined) named.set(name, release);
    return release;
  }

  /** Runs phase `number` of a user, counted from 0. `note`: text for people. `only`: robots that take part. */
  async runByHand(phase: Phase, number: number, note: string, only?: number[]): Promise<PhaseReport> {
    // Uses an index beyond the scenario, because phases with equal indices draw the same robots.
    const index = this.options.scenario.phases.length + number;
    const release = phase.do === 'rollout' ? await this.createRelease(`by hand ${number + 1}`) : undefined;
    const epoch = monotonicMs() + leadMs(phase, this.robots);
    const request = defined({ index, phase, epoch, release, only });
    const outcomes = await this.#workers.each((worker) => worker.runPhase(request));
    return this.record.endByHand(phase, epoch, outcomes, note);
  }

  async interrupted(): Promise<void> {
    const outcomes = await this.#workers.each((worker) => worker.soFar());
    this.record.interruptPhase(outcomes.filter((outcome) => outcome !== undefined));
  }

  /** Resolves with the new indices. Not for a shard, because other shards own the next indices. */
  async grow(count: number): Promise<number[]> {
    const first = this.robots;
    const more = Array.from({ length: count }, (_, number) => first + number);
    this.members.push(...more);
    await this.#workers.grow(more, first);
    return more;
  }

  /** Takes an existing release if the platform cannot create any. `content`: JSON text. */
  async createRelease(label: string, content?: string): Promise<ReleaseFixture> {
    if (this.#client === undefined) throw new Error('a fleet without a platform cannot roll out');
    const { releaseId, plain, staged } = this.options.offer ?? {};
    const ways = defined({ plain, staged });
    if (releaseId !== undefined) return { releaseId, configInstanceIds: [], ...ways };
    const version = `${this.namePrefix} ${label} ${Date.now().toString(36)}-${randomBytes(4).toString('hex')}`;
    const text = content ?? JSON.stringify({ release: version });
    return { ...(await this.#client.createReleaseFixture(version, text)), ...ways };
  }

  async finish(): Promise<void> {
    this.record.phase = 'finishing';
    this.record.addLate((await this.#workers.each((worker) => worker.finish())).flat());
    this.#second();
  }

  async measured(): Promise<Measured> {
    const snapshot = await this.#workers.snapshot().catch((error: unknown) => {
      if (error instanceof NoWorkerLeft) return undefined;
      throw error;
    });
    return this.record.measured(snapshot);
  }

  /** Removes the fleet's folder, or only the sockets with the option `keep`. Idempotent. */
  stop(how: StopMode = 'orderly'): Promise<void> {
    this.#stopping ??= this.#stop(how);
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(how: StopMode): Promise<void> {
    clearInterval(this.#clock);
    const results = await Promise.allSettled([this.#workers.stop(how), this.#client?.close()]);
    // Synchronous, because asynchronous removal of 100,000 files takes several times as long.
    const gone = this.options.keep === true ? join(this.dir, 's') : this.dir;
    rmSync(gone, { recursive: true, force: true, maxRetries: 3 });
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    if (failures.length > 0) throw new AggregateError(failures, 'the fleet did not stop cleanly');
  }

  #hear(worker: string, notice: WorkerNotice): void {
    const { options, record } = this;
    if ('tick' in notice) record.progress.add(worker, notice.tick);
    else if ('keys' in notice) {
      record.keysMade.set(worker, notice.keys);
      options.onKeys?.(record.keysReady, this.robots);
    } else if ('violation' in notice) record.addViolation(notice.violation);
    else if ('disturbance' in notice) record.addDisturbance(notice.disturbance);
    else if ('answers' in notice) options.judge?.take(notice);
    else options.onStates?.(notice.states);
  }

  async #rss(): Promise<number> {
    return (await this.#workers.each((worker) => worker.memory())).reduce((sum, bytes) => sum + bytes, 0);
  }

  #second(): void {
    const tick = this.record.second(this.robots);
    this.options.onSecond?.(tick);
  }
}
