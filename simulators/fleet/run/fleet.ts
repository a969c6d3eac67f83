/** A running fleet: its hosts, the phases they carry out together, and what they measured. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { random } from '../../common/random.ts';
import type { HostConfig, HostEvents, PhaseOutcome, PlatformAddress } from '../host/host.ts';
import { mergeSnapshots, type Snapshot, summariesOf } from '../measure/metrics.ts';
import { PlatformClient, type Rollable } from '../platform/client.ts';
import { Hosts } from '../processes/hosts.ts';
import type { FleetResult, Tick, Violation } from '../result/result.ts';
import { judge } from '../result/verdict.ts';
import type { Phase, Scenario } from '../scenario/scenario.ts';
import { durationMs } from '../scenario/units.ts';
import { membersOf } from '../schedule/plan.ts';
import { monotonicMs } from '../schedule/scheduler.ts';
import { tryOut } from './canary.ts';
import { Progress } from './progress.ts';
import { robotCost } from './robot-cost.ts';
import { makePlace, roomFor } from './workdir.ts';

export interface FleetOptions {
  /** Of the whole fleet, over all shards. */
  robots: number;
  /** `undefined`: robots without an uplink. */
  platform: PlatformAddress | undefined;
  scenario: Scenario;
  /** Worker processes; 0: everything in this process. */
  workers: number;
  seed: number;
  shard?: { index: number; count: number };
  keyBits: number;
  /** Keys of robots, kept from run to run. */
  stateDir: string;
  /** Where robots keep their files while the fleet runs. Default: in memory (`/dev/shm`) when it has room, else `tmpdir()`. */
  dir?: string;
  /** Events a robot keeps. Default 200. */
  retain?: number;
  durability?: 'os' | 'sync';
  /** Keeps a list of every action, in `PhaseOutcome.trace`. */
  trace?: boolean;
  /** Names robots `<prefix>-000042`; keys belong to it, so that the same prefix is the same fleet. Default: `robot`. */
  namePrefix?: string;
  /** Robots that deviate on purpose, by index: names of `simulators/defects/device`. That the fleet finds them can be tried so. */
  defects?: Record<number, string>;
  onKeys?(done: number, of: number): void;
  onSecond?(tick: Tick): void;
  onViolation?(violation: Violation): void;
}

/** What a phase came to, over all hosts. */
export interface PhaseReport extends PhaseOutcome {
  do: Phase['do'];
  startedMs: number;
  durationMs: number;
  measured: boolean;
}

/** What a fleet can say about itself. */
export type Measured = Pick<
  FleetResult,
  'metrics' | 'counters' | 'histograms' | 'verdict' | 'verdict_reasons' | 'measured_seconds'
>;

/** Between the decision to begin a phase and its first moment, so that every host is ready. */
const LEAD_MS = 50;
const SECOND_MS = 1000;
const MAX_LISTED = 100;
const MAX_ERRORS = 5;
const DEFAULT_RETAIN = 200;

export class Fleet implements AsyncDisposable {
  readonly options: FleetOptions;
  /** Robots of this shard. */
  readonly members: number[];
  readonly phases: PhaseReport[] = [];
  readonly violations: Violation[] = [];
  readonly missed: string[] = [];
  /** Robots that did not come online. */
  notStarted = 0;
  /** The first few actions that failed, in words. */
  readonly errors: string[] = [];
  readonly incomplete: string[] = [];
  readonly progress = new Progress();
  readonly #dir: string;
  readonly #hosts: Hosts;
  readonly #client: PlatformClient | undefined;
  readonly #began = monotonicMs();
  readonly #keysDone = new Map<string, number>();
  #clock: NodeJS.Timeout | undefined;
  #phase = 'preparing';
  #phaseEpoch: number | undefined;
  #stopping: Promise<void> | undefined;
  #idleRss = 0;
  startMs = 0;
  rssBytesPerRobot = 0;

  constructor(options: FleetOptions) {
    this.options = options;
    this.members = membersOf(options.robots, options.shard ?? { index: 1, count: 1 });
    this.#dir = makePlace(roomFor(this.robots * robotCost(options.scenario).diskBytes, options.dir));
    this.#client = options.platform && new PlatformClient({ ...options.platform, connections: 8 });
    const count = Math.max(options.workers, 1);
    this.#hosts = new Hosts({
      configs: Array.from({ length: count }, (_, number) => this.#configOf(number, count)),
      processes: options.workers > 0,
      eventsOf: (config) => this.#eventsOf(config),
      onLost: (reason) => this.incomplete.push(reason),
    });
  }

  get robots(): number {
    return this.members.length;
  }

  /** Milliseconds since the fleet was made. */
  get elapsedMs(): number {
    return monotonicMs() - this.#began;
  }

  /** What it does now: a kind of phase, `preparing` or `finishing`. */
  get phase(): string {
    return this.#phase;
  }

  /** Milliseconds since the phase that runs began; 0 before the first. */
  get phaseElapsedMs(): number {
    return this.#phaseEpoch === undefined ? 0 : Math.max(0, monotonicMs() - this.#phaseEpoch);
  }

  /** Unix socket of a robot of this shard, whether it serves at the moment or not. */
  robotSocket(index: number): string {
    const position = this.members.indexOf(index);
    if (position < 0) throw new RangeError(`robot ${index} is not in this shard of ${this.options.robots} robots`);
    return join(this.#dir, 's', String(position % Math.max(this.options.workers, 1)), String(index));
  }

  robotName(index: number): string {
    return `${this.#namePrefix}-${String(index).padStart(6, '0')}`;
  }

  /** See `tryOut`; undefined when the fleet may begin. Call before `prepare`. */
  async tryOut(warnings: string[]): Promise<string | undefined> {
    const { platform, scenario } = this.options;
    if (platform === undefined || (scenario.uplink ?? 'agent') === 'none') return undefined;
    return await tryOut(this.#hosts, { ...this.options, platform, nameOf: (robot) => this.robotName(robot), warnings });
  }

  /** Makes keys and readies the hosts. */
  async prepare(): Promise<void> {
    await this.#hosts.start();
    await this.#hosts.each((host) => host.prepare());
    this.#clock = setInterval(() => this.#second(), SECOND_MS);
  }

  /** Carries out a phase of the scenario, or one of the caller's own. Resolves when it has ended on every host. */
  async run(phase: Phase, rollable?: Rollable): Promise<PhaseReport> {
    const index = this.phases.length;
    this.#phase = phase.do;
    if (phase.do === 'ramp') this.#idleRss = await this.#rss();
    const given = phase.do === 'rollout' ? (rollable ?? (await this.makeRollable(`phase ${index}`))) : undefined;
    const epoch = monotonicMs() + LEAD_MS;
    this.#phaseEpoch = epoch;
    if (phase.do === 'kill-worker') await this.#killWorker(index, phase.down);
    const outcomes = await this.#hosts.each((host) =>
      host.runPhase({ index, phase, epoch, ...(given === undefined ? {} : { rollable: given }) }),
    );
    const report: PhaseReport = {
      do: phase.do,
      startedMs: epoch - this.#began,
      durationMs: monotonicMs() - epoch,
      measured: phase.measure !== false,
      actions: outcomes.reduce((sum, { actions }) => sum + actions, 0),
      notStarted: outcomes.reduce((sum, { notStarted }) => sum + notStarted, 0),
      rollouts: outcomes.flatMap(({ rollouts }) => rollouts),
      missed: outcomes.flatMap(({ missed }) => missed),
      trace: outcomes.flatMap(({ trace }) => trace),
      errors: outcomes.flatMap(({ errors }) => errors),
    };
    for (const error of report.errors) this.#noteError(error);
    if (phase.do === 'ramp') {
      this.startMs = report.durationMs;
      this.rssBytesPerRobot = Math.max(0, ((await this.#rss()) - this.#idleRss) / Math.max(this.robots, 1));
    }
    this.notStarted += report.notStarted;
    this.missed.push(...report.missed.slice(0, MAX_LISTED - this.missed.length));
    this.phases.push(report);
    return report;
  }

  /** A release with one config instance, new on the platform. */
  makeRollable(label: string, content?: string): Promise<Rollable> {
    if (this.#client === undefined) throw new Error('a fleet without a platform rolls nothing out');
    const version = `${this.#namePrefix} ${label} ${Date.now().toString(36)}`;
    return this.#client.makeRollable(version, content ?? JSON.stringify({ release: version }));
  }

  /** Lets subscribers read what is left, then reports what was never read. Call once, before `stop`. */
  async finish(): Promise<void> {
    this.#phase = 'finishing';
    await this.#hosts.each((host) => host.finish());
    this.#second();
  }

  /** What was measured so far. */
  async snapshot(): Promise<Snapshot> {
    return mergeSnapshots([...this.#hosts.left, ...(await this.#hosts.each((host) => host.snapshot()))]);
  }

  /** The part of the result that the fleet itself knows. */
  async measured(): Promise<Measured> {
    return this.#judged(await this.snapshot());
  }

  /** As `measured`, when no host can be asked any more. */
  measuredNothing(): Measured {
    return this.#judged({ histograms: {}, counters: this.progress.counters });
  }

  #judged({ histograms, counters }: Snapshot): Measured {
    const metrics = summariesOf({ histograms, counters });
    const { verdict, reasons } = judge({
      lateness: metrics['schedule.lateness.ms'],
      samples: this.progress.samples,
      exhausted: counters['exhausted'] ?? 0,
    });
    const measured = this.phases.filter((phase) => phase.measured);
    const seconds = measured.reduce((sum, phase) => sum + phase.durationMs, 0) / 1000;
    return { metrics, counters, histograms, verdict, verdict_reasons: reasons, measured_seconds: seconds };
  }

  /** Ends robots and workers and removes the fleet's directory; `abandon` does not wait for anything. Idempotent. */
  stop(how: 'orderly' | 'abandon' = 'orderly'): Promise<void> {
    this.#stopping ??= this.#stop(how);
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(how: 'orderly' | 'abandon'): Promise<void> {
    clearInterval(this.#clock);
    const results = await Promise.allSettled([this.#hosts.stop(how), this.#client?.close()]);
    // At once: an asynchronous removal of a hundred thousand files takes several times as long.
    rmSync(this.#dir, { recursive: true, force: true, maxRetries: 3 });
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    if (failures.length > 0) throw new AggregateError(failures, 'the fleet did not end cleanly');
  }

  get #namePrefix(): string {
    return this.options.namePrefix ?? 'robot';
  }

  #configOf(number: number, count: number): HostConfig {
    const { robots, seed, scenario, platform, keyBits, stateDir, retain, durability, trace, defects } = this.options;
    return {
      name: count === 1 && this.options.workers === 0 ? 'this process' : `worker ${number + 1}`,
      members: this.members.filter((_, position) => position % count === number),
      robots,
      seed,
      scenario,
      platform,
      keyBits,
      namePrefix: this.#namePrefix,
      stateDir,
      robotsDir: join(this.#dir, 'r', String(number)),
      socketsDir: join(this.#dir, 's', String(number)),
      retain: retain ?? DEFAULT_RETAIN,
      durability: durability ?? 'os',
      trace: trace ?? false,
      defects: defects ?? {},
    };
  }

  #eventsOf({ name }: HostConfig): HostEvents {
    return {
      onTick: (tick) => this.progress.add(name, tick),
      onKeys: (done) => {
        this.#keysDone.set(name, done);
        const all = [...this.#keysDone.values()].reduce((sum, of) => sum + of, 0);
        this.options.onKeys?.(all, this.robots);
      },
      onViolation: (violation) => {
        if (this.violations.length < MAX_LISTED) this.violations.push(violation);
        this.options.onViolation?.(violation);
      },
    };
  }

  /** What failed in the same way on another host or in another phase is told once. */
  #noteError(text: string): void {
    const without = (of: string): string => of.replace(/ of \S+: /, '');
    const known = this.errors.some((other) => without(other) === without(text));
    if (!known && this.errors.length < MAX_ERRORS) this.errors.push(text);
  }

  async #killWorker(index: number, down: string | undefined): Promise<void> {
    const name = random(`${this.options.seed}/phase ${index}/worker`).pick(this.#hosts.names);
    const killed = await this.#hosts.replace(name, down === undefined ? SECOND_MS : durationMs(down));
    if (!killed) this.incomplete.push('there was no worker process to kill: use --workers 1 or more');
  }

  async #rss(): Promise<number> {
    return (await this.#hosts.each((host) => host.memory())).reduce((sum, bytes) => sum + bytes, 0);
  }

  #second(): void {
    const tick = this.progress.second(this.elapsedMs, this.#phase, this.robots);
    this.options.onSecond?.(tick);
  }
}
