/** A running fleet: its hosts carry out phases together. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '../../../harness/common/defined.ts';
import { durationMs } from '../../../harness/common/durations.ts';
import { ownedFolder } from '../../../harness/common/owner.ts';
import { random } from '../../common/random.ts';
import type { Host, HostConfig, HostNotice, PhaseRequest, StopMode } from '../host/host.ts';
import { phaseLabel, type Snapshot } from '../measure/metrics.ts';
import { AnswerSampler } from '../platform/answers.ts';
import { PlatformClient, type ReleaseFixture } from '../platform/client.ts';
import { Hosts, NoHostLeft } from '../processes/hosts.ts';
import type { FleetResult } from '../result/result.ts';
import { settingsOf, uplinkOf } from '../scenario/classes.ts';
import { DEFAULT_WITHIN_MS, type Phase, withinMs } from '../scenario/scenario.ts';
import { robotName, TRAFFIC_NAMES } from '../scenario/uplinks.ts';
import { monotonicMs } from '../schedule/clock.ts';
import { membersOf } from '../schedule/schedule.ts';
import { baseDirFor, connectionsFor, robotCost } from './capacity.ts';
import type { FleetOptions } from './plan.ts';
import { FleetRecord, type Measured, type PhaseReport } from './record.ts';
import { Releases } from './releases.ts';

/** Between the decision to begin a phase and its start, so that every host has drawn when its robots act. */
const leadMs = (phase: Phase, robots: number): number =>
  LEAD_MS + robots * STREAM_MS * (1 + TRAFFIC_NAMES.filter((name) => phase[name] !== undefined).length);
const LEAD_MS = 50;
/** What one kind of action of one robot takes to draw, in code that has not run before. */
const STREAM_MS = 0.02;
const SECOND_MS = 1000;
/** A part by which the sample of answers may be off. */
const SLIGHT = 0.1;

/** Call `prepare`, then `run` for each phase, then `finish` and `stop`. `record` says how its robots do. */
export class Fleet implements AsyncDisposable {
  readonly options: FleetOptions;
  /** The robots of this shard, by index. */
  readonly members: number[];
  readonly namePrefix: string;
  readonly record = new FleetRecord();
  /** The fleet's own folder. The robot of index I has its files in `r/HOST/I` of it. */
  readonly dir: string;
  readonly #hosts: Hosts;
  readonly #client: PlatformClient | undefined;
  #clock: NodeJS.Timeout | undefined;
  #stopping: Promise<void> | undefined;
  readonly #releases = new Releases((label) => this.createRelease(label));
  #idleRss = 0;
  /** Bytes of answers that the hosts tell a second, for the judge. */
  #sampled: number;

  constructor(options: FleetOptions) {
    this.options = options;
    const { robots, scenario, shard, dir, setUpMs } = options;
    const cost = robotCost(scenario, options.source);
    this.members = membersOf(robots, shard);
    this.namePrefix = options.namePrefix ?? 'robot';
    // A short path, because paths of Unix sockets are limited.
    this.dir = ownedFolder('fleet', baseDirFor(this.members.length * cost.memoryDiskBytes, dir));
    const { connections = connectionsFor(Math.ceil(this.members.length / this.#hostCount), cost) } = options;
    this.record.connections = connections;
    this.record.fleetRobots = robots;
    const fields = TRAFFIC_NAMES.filter((name) => scenario.phases.some((phase) => phase[name] !== undefined));
    this.record.rates = { fields, part: this.members.length / robots };
    const { platform, judge } = options;
    this.#sampled = judge?.bytesPerSecond() ?? 0;
    const sampler =
      platform &&
      judge &&
      new AnswerSampler({
        platform,
        bytesPerSecond: this.#sampled,
        phase: () => this.record.phase,
        tell: (told) => judge.take(told),
      });
    const onAnswer = sampler?.take;
    this.#client = platform && new PlatformClient(defined({ ...platform, connections: 8, setUpMs, onAnswer }));
    this.#hosts = new Hosts({
      configs: this.#hostConfigs(connections),
      processes: options.workers > 0,
      silentMs: options.silentMs,
      onNotice: (host, notice) => this.#hear(host, notice),
      onLost: (reason) => this.record.incomplete.push(reason),
    });
  }

  /** Call before `prepare`, of a run that may take days. `last`: its newest result, where it goes on. */
  soak(last: FleetResult | undefined): void {
    this.record.progress.limit();
    if (last === undefined) return;
    this.record.resume(last);
    this.#hosts.addPast({ histograms: last.histograms, counters: last.counters });
  }

  /** Number of robots in this shard. */
  get robots(): number {
    return this.members.length;
  }

  /** Worker processes; 1 when the robots are in this process. */
  get #hostCount(): number {
    return Math.max(this.options.workers, 1);
  }

  #hostConfigs(connections: number): HostConfig[] {
    const { robots, seed, scenario, platform, keyBits, stateDir, workers } = this.options;
    const { trace, defects, keep, offer, onStates, source, traced, judge } = this.options;
    const sampled = judge && this.#sampled / this.#hostCount;
    return Array.from({ length: this.#hostCount }, (_, number) => ({
      name: workers === 0 ? 'this process' : `worker ${number + 1}`,
      members: this.members.filter((_member, position) => position % this.#hostCount === number),
      robots,
      seed,
      scenario,
      platform,
      connections,
      keyBits,
      namePrefix: this.namePrefix,
      stateDir,
      robotsDir: join(this.dir, 'r', String(number)),
      socketsDir: join(this.dir, 's', String(number)),
      ...defined({
        trace,
        defects,
        keep,
        offer,
        source,
        traced,
        sampled,
        watched: onStates === undefined ? undefined : true,
      }),
    }));
  }

  robotName(index: number): string {
    return robotName(this.namePrefix, index);
  }

  /** The folder of a robot's files. Throws RangeError. */
  robotDir(index: number): string {
    return join(this.dir, 'r', this.#hostOf(index), String(index));
  }

  /** Path of the Unix socket of a robot of this shard, even while the robot does not serve. Throws RangeError. */
  robotSocket(index: number): string {
    return join(this.dir, 's', this.#hostOf(index), String(index));
  }

  /** The folder of the host of a robot. */
  #hostOf(index: number): string {
    const position = this.members.indexOf(index);
    if (position < 0) throw new RangeError(`robot ${index} is not in this shard of ${this.options.robots} robots`);
    return String(position % this.#hostCount);
  }

  /** Of the worker processes that there are now. */
  get workerPids(): number[] {
    return this.#hosts.pids;
  }

  /** Robots that are online, as far as the last second tells. */
  get online(): number {
    const { isUp, progress, notStarted } = this.record;
    const seen = progress.latest?.robots['online'] ?? 0;
    return isUp ? Math.max(seen, this.robots - notStarted) : seen;
  }

  /**
   * Call before `prepare`. Resolves with why the fleet must not start, or undefined. Adds to `warnings` what is merely
   * slow.
   */
  async runCanary(warnings: string[]): Promise<string | undefined> {
    const { platform, scenario, defects = {} } = this.options;
    if (platform === undefined || (scenario.uplink ?? 'agent') === 'none') return undefined;
    const { host, members } = await this.#hosts.first();
    const sound = members.filter((robot) => defects[robot] === undefined);
    // Each way to the platform has canaries of its own.
    const ways = Map.groupBy(
      sound,
      (robot) => `${uplinkOf(scenario, robot)} ${settingsOf(scenario, robot).region ?? ''}`,
    );
    for (const robots of ways.values()) {
      const failure = await this.#canaryOf(host, robots, warnings);
      if (failure !== undefined) return failure;
    }
    return undefined;
  }

  /** Resolves with why none of these robots would come online. */
  async #canaryOf(host: Host, robots: readonly number[], warnings: string[]): Promise<string | undefined> {
    // A second canary, because the first may be refused for a reason that concerns it alone.
    const candidates = [...new Set([robots.at(0), robots.at(-1)])].filter((robot) => robot !== undefined);
    let failure: string | undefined;
    for (const robot of candidates) {
      // `prepare` reports a host that dies here.
      const outcome = await host.runCanary(robot).catch(() => undefined);
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

  /** Generates keys and prepares the hosts. */
  async prepare(): Promise<void> {
    await this.#hosts.start();
    await this.#hosts.each((host) => host.prepare());
    // As in a host, a clock that starts after the stop would tick for ever.
    if (this.#stopping === undefined) this.#clock = setInterval(() => this.#second(), SECOND_MS);
  }

  /**
   * Carries out a phase, of the scenario or not. Resolves when it has ended on every host. `index`: its place in the
   * scenario, by default the next; `round`: how often the scenario has been carried out before; `release`: what a
   * roll-out deploys.
   */
  async run(
    phase: Phase,
    given: { index?: number; round?: number; release?: ReleaseFixture } = {},
  ): Promise<PhaseReport> {
    const { record } = this;
    const { index = record.phases.length, round = 0 } = given;
    record.phase = phase.do;
    if (phase.do === 'ramp') this.#idleRss = await this.#rss();
    const release =
      phase.do === 'rollout'
        ? (given.release ?? (await this.#releases.of(phase.release, `phase ${index}`, round)))
        : undefined;
    const report = await this.#carryOut(phase, phase.do, defined({ index, round, release }));
    if (release !== undefined) this.#releases.reached(release, report.rollouts);
    if (phase.do === 'ramp') {
      record.rssBytesPerRobot = Math.max(0, ((await this.#rss()) - this.#idleRss) / Math.max(this.robots, 1));
    }
    return report;
  }

  async #carryOut(
    phase: Phase,
    kind: PhaseReport['do'],
    request: Pick<PhaseRequest, 'index' | 'round' | 'release' | 'only'>,
  ): Promise<PhaseReport> {
    const { record } = this;
    const { index } = request;
    const label = phaseLabel(index, kind);
    const epoch = monotonicMs() + leadMs(phase, this.robots);
    record.beginPhase({ phase, kind, index, epoch });
    if (phase.do === 'kill-worker') await this.#killWorker(index, phase.down);
    const outcomes = await this.#hosts.each((host) => host.runPhase({ ...request, label, phase, epoch }));
    return record.endPhase({ phase, kind, index, epoch }, outcomes);
  }

  /**
   * Gives the robots that have the newest release the one that each had before, as a phase after those of the scenario.
   * Resolves with its reports, one for each release. A tight time of the stage is what may have closed its gate; robots
   * are given the usual one to come back.
   */
  async rollBack(stage: Extract<Phase, { do: 'rollout' }>): Promise<PhaseReport[]> {
    this.record.phase = 'rollback';
    const { rollback: over = '0s', within } = stage;
    const isTight = withinMs(stage) < DEFAULT_WITHIN_MS;
    const phase = defined({ do: 'rollout' as const, over, within: isTight ? undefined : within });
    const index = this.options.scenario.phases.length;
    const reports: PhaseReport[] = [];
    for (const { release, robots } of this.#releases.before)
      reports.push(await this.#carryOut(phase, 'rollback', { index, release, only: robots }));
    return reports;
  }

  /**
   * Carries out a phase that is not the scenario's, beside the one that is under way. `number`: counts them from 0;
   * `note`: what it is, in words; `only`: the robots that take part.
   */
  async runByHand(phase: Phase, number: number, note: string, only?: number[]): Promise<PhaseReport> {
    // A number of its own, so that it takes other robots than the phases of the scenario.
    const index = this.options.scenario.phases.length + number;
    const release = phase.do === 'rollout' ? await this.createRelease(`by hand ${number + 1}`) : undefined;
    const epoch = monotonicMs() + leadMs(phase, this.robots);
    const request = defined({ index, phase, epoch, byHand: true, release, only });
    const outcomes = await this.#hosts.each((host) => host.runPhase(request));
    return this.record.endByHand(phase, epoch, outcomes, note);
  }

  /** Takes what has come of the phase that is under way, which an interrupt ends. */
  async interrupted(): Promise<void> {
    this.record.interruptPhase(
      (await this.#hosts.each((host) => host.soFar())).filter((outcome) => outcome !== undefined),
    );
  }

  /**
   * Adds robots behind the last one, which do not start yet; resolves with their indices. Not for a shard, whose
   * indices others have.
   */
  async grow(count: number): Promise<number[]> {
    const first = this.robots;
    const more = Array.from({ length: count }, (_, number) => first + number);
    this.members.push(...more);
    this.record.fleetRobots = Math.max(this.record.fleetRobots, this.robots);
    await this.#hosts.grow(more, first);
    return more;
  }

  /**
   * Creates a release with one config instance on the platform, or takes one that exists where none can be created.
   * `content`: its JSON.
   */
  async createRelease(label: string, content?: string): Promise<ReleaseFixture> {
    if (this.#client === undefined) throw new Error('a fleet without a platform cannot roll out');
    const { releaseId, plain, staged } = this.options.offer ?? {};
    const version = `${this.namePrefix} ${label} ${Date.now().toString(36)}`;
    const release =
      releaseId === undefined
        ? await this.#client.createReleaseFixture(version, content ?? JSON.stringify({ release: version }))
        : { releaseId, configInstanceIds: [] };
    return { ...release, ...defined({ plain, staged }) };
  }

  /** Lets subscribers catch up, then reports what they never read. Call once, before `stop`. */
  async finish(): Promise<void> {
    this.record.phase = 'finishing';
    const late = await this.#hosts.each((host) => host.finish());
    this.record.addLate(late.flat());
    this.#second();
  }

  /** What the hosts have measured so far. */
  snapshot(): Promise<Snapshot> {
    return this.#hosts.snapshot();
  }

  /** The grade and figures of what the hosts have measured so far. */
  async measured(): Promise<Measured> {
    const snapshot = await this.snapshot().catch((error: unknown) => {
      if (error instanceof NoHostLeft) return undefined;
      throw error;
    });
    return this.record.measured(snapshot);
  }

  /** Ends robots and workers, and removes the fleet's folder, or its sockets alone with `keep`. Idempotent. */
  stop(how: StopMode = 'orderly'): Promise<void> {
    this.#stopping ??= this.#stop(how);
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(how: StopMode): Promise<void> {
    clearInterval(this.#clock);
    const results = await Promise.allSettled([this.#hosts.stop(how), this.#client?.close()]);
    // Synchronous, because an asynchronous removal of a hundred thousand files takes several times as long.
    const gone = this.options.keep === true ? join(this.dir, 's') : this.dir;
    rmSync(gone, { recursive: true, force: true, maxRetries: 3 });
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    if (failures.length > 0) throw new AggregateError(failures, 'the fleet did not stop cleanly');
  }

  #hear(host: string, notice: HostNotice): void {
    const { options, record } = this;
    if ('tick' in notice) record.progress.add(host, notice.tick);
    else if ('keys' in notice) {
      record.keysMade.set(host, notice.keys);
      options.onKeys?.(record.keysReady, this.robots);
    } else if ('violation' in notice) {
      record.addViolation(notice.violation);
      options.onViolation?.(notice.violation);
    } else if ('disturbance' in notice) record.addDisturbance(notice.disturbance);
    else if ('answers' in notice) options.judge?.take(notice);
    else options.onStates?.(notice.states);
  }

  async #killWorker(index: number, down: string | undefined): Promise<void> {
    const name = random(`${this.options.seed}/phase ${index}/worker`).pick(this.#hosts.names);
    const killed = await this.#hosts.replace(name, down === undefined ? SECOND_MS : durationMs(down), index);
    const reason = 'there was no worker process to kill: use --workers 1 or more';
    if (!killed && !this.record.incomplete.includes(reason)) this.record.incomplete.push(reason);
  }

  async #rss(): Promise<number> {
    return (await this.#hosts.each((host) => host.memory())).reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Tells the hosts how much the judge can take, where that has changed. */
  #pace(): void {
    const wanted = this.options.judge?.bytesPerSecond() ?? 0;
    if (Math.abs(wanted - this.#sampled) <= SLIGHT * this.#sampled) return;
    this.#sampled = wanted;
    // A host that is lost is told of by whoever awaits something of it.
    this.#hosts.each((host) => host.sample(wanted / this.#hostCount)).catch(() => {});
  }

  #second(): void {
    this.#pace();
    const tick = this.record.second(this.robots);
    this.options.onSecond?.(tick);
  }
}
