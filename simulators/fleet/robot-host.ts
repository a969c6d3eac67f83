/** Hosts robots in this process: carries out the phases of a scenario on them and measures. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Metrics, type Recorder, type Snapshot } from '../../harness/load/metrics.ts';
import { SaturationSampler } from '../../harness/load/saturation.ts';
import type { Phase } from '../../harness/load/scenario.ts';
import { monotonicMs, runSchedule } from '../../harness/load/scheduler.ts';
import { durationMs } from '../../harness/load/units.ts';
import { random } from '../common/random.ts';
import type { Host, HostConfig, HostEvents, PhaseOutcome, PhaseRequest, RolloutRow } from './host.ts';
import { ensureKeys, installKey, type KeyStore, keyFile } from './keys.ts';
import { type ActionKind, type ActionStream, scheduleMs, streamsOf } from './plan.ts';
import { PlatformClient, PlatformFailure, type Rollable } from './platform-client.ts';
import { Robot, type RobotListener, type RobotState } from './robot.ts';
import { Rollouts } from './rollouts.ts';
import { type FleetUplinks, fleetUplinks } from './uplinks.ts';
import { Waits } from './waits.ts';

const TICK_MS = 1000;
const DEFAULT_WITHIN_MS = 60_000;
const DEFAULT_DOWN_MS = 1000;
const MAX_ERRORS = 5;
/** How long robots may take to be online after the schedule of a ramp, storm, kill or partition has ended. */
const SETTLE_MS = 120_000;
const EXHAUSTED = new Set(['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS', 'ENOMEM', 'EAGAIN']);

/** An action that is under way, with where it records. */
interface Action {
  robot: Robot;
  phase: Phase;
  index: number;
  /** Intended moment on the shared clock, and after the phase began. */
  intended: number;
  at: number;
  turn: number;
  record: Recorder;
  rollable: Rollable | undefined;
  outcome: PhaseOutcome;
}

export class RobotHost implements Host {
  readonly name: string;
  readonly #config: HostConfig;
  readonly #events: HostEvents;
  readonly #metrics = new Metrics({ intervals: true });
  readonly #sampler = new SaturationSampler();
  readonly #robots = new Map<number, Robot>();
  readonly #rollouts = new Rollouts();
  readonly #abort = new AbortController();
  readonly #waits = new Waits();
  readonly #client: PlatformClient | undefined;
  #uplinks: FleetUplinks | undefined;
  #ticker: NodeJS.Timeout | undefined;

  constructor(config: HostConfig, events: HostEvents) {
    this.name = config.name;
    this.#config = config;
    this.#events = events;
    this.#client = config.platform && new PlatformClient(config.platform);
  }

  /** Robots that were started at some time. */
  robot(index: number): Robot | undefined {
    return this.#robots.get(index);
  }

  async prepare(): Promise<void> {
    const { members, scenario, platform } = this.#config;
    mkdirSync(this.#config.socketsDir, { recursive: true, mode: 0o700 });
    if (platform !== undefined && (scenario.uplink ?? 'agent') === 'agent') {
      const { signal } = this.#abort;
      await ensureKeys({ keys: this.#keys, robots: members, signal, onProgress: this.#events.onKeys });
    }
    this.#uplinks = fleetUplinks(this.#config, this.#client);
    this.#sampler.start();
    this.#ticker = setInterval(() => this.#tick(), TICK_MS);
  }

  async runPhase({ index, phase, epoch, rollable }: PhaseRequest): Promise<PhaseOutcome> {
    const { seed, robots, members, trace } = this.#config;
    this.#metrics.measuring = phase.measure !== false;
    const streams = streamsOf({ seed, robots }, index, phase, members);
    const outcome: PhaseOutcome = { actions: 0, rollouts: [], missed: [], trace: [], errors: [] };
    const turns = new Uint32Array(streams.length);
    const underWay = new Set<Promise<void>>();
    await runSchedule({
      epoch,
      streams: streams.map(({ moments }) => moments),
      signal: this.#abort.signal,
      fire: (number, intended, lateMs) => {
        const stream = streams[number] as ActionStream;
        const record = this.#metrics.current;
        record.time('schedule.lateness.ms', lateMs);
        const turn = turns[number] ?? 0;
        turns[number] = turn + 1;
        const at = intended - epoch;
        outcome.actions += 1;
        if (trace) outcome.trace.push({ robot: stream.robot, phase: index, kind: stream.kind, at_ms: at });
        const robot = this.#robotOf(stream.robot);
        const action = { robot, phase, index, intended, at, turn, record, rollable, outcome };
        const running = this.#act(stream.kind, action)
          .catch((error: unknown) => this.#failed(stream.kind, action, error))
          .finally(() => underWay.delete(running));
        underWay.add(running);
      },
    });
    await this.#waits.until(epoch + scheduleMs(phase));
    await Promise.all(underWay);
    return outcome;
  }

  async finish(): Promise<void> {
    const deadline = monotonicMs() + 5000;
    const running = [...this.#robots.values()].filter(({ state }) => state !== 'stopped');
    while (running.some((robot) => !robot.caughtUp) && monotonicMs() < deadline && !this.#waits.ended) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    for (const robot of running) robot.finish();
  }

  cursors(): Promise<Record<number, number>> {
    return Promise.resolve(
      Object.fromEntries(
        [...this.#robots].flatMap(([index, { cursor }]) => (cursor === undefined ? [] : [[index, cursor]])),
      ),
    );
  }

  snapshot(): Promise<Snapshot> {
    return Promise.resolve(this.#metrics.snapshot());
  }

  memory(): Promise<number> {
    return Promise.resolve(process.memoryUsage.rss());
  }

  async stop(how: 'orderly' | 'abandon'): Promise<void> {
    this.#abort.abort();
    this.#waits.end();
    clearInterval(this.#ticker);
    this.#sampler.stop();
    const robots = [...this.#robots.values()];
    if (how === 'abandon') for (const robot of robots) robot.abandon();
    const stopped = await Promise.allSettled([...robots.map((robot) => robot.stop()), this.#client?.close()]);
    const failures = stopped.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    if (failures.length > 0)
      throw new AggregateError(failures, `${this.name}: ${failures.length} robots did not end cleanly`);
  }

  get #keys(): KeyStore {
    const { stateDir, keyBits, namePrefix } = this.#config;
    return { dir: join(stateDir, 'keys', namePrefix, String(keyBits)), bits: keyBits };
  }

  #robotOf(index: number): Robot {
    let robot = this.#robots.get(index);
    if (robot === undefined) {
      const { namePrefix, robotsDir, socketsDir, scenario, retain, durability, seed } = this.#config;
      robot = new Robot({
        index,
        name: `${namePrefix}-${String(index).padStart(6, '0')}`,
        dir: join(robotsDir, String(index)),
        socketPath: join(socketsDir, String(index)),
        subscribers: scenario.subscribers ?? 1,
        cursor: this.#config.cursors?.[index],
        makeUplink: this.#uplinks?.make,
        device: { retain, durability, seed: `${seed}/${index}` },
        listener: this.#listener,
      });
      this.#robots.set(index, robot);
    }
    return robot;
  }

  readonly #listener: RobotListener = {
    count: (name) => this.#metrics.current.count(name),
    time: (name, ms) => this.#metrics.current.time(name, ms),
    fault: (robot, { kind, message }) => {
      this.#metrics.count('subscriber.violations');
      this.#events.onViolation({ robot: robot.index, name: robot.name, kind, message });
    },
    progress: (_robot, deploymentId, moments) => this.#rollouts.progress(deploymentId, moments),
  };

  async #act(kind: ActionKind, action: Action): Promise<void> {
    const { robot, phase, record, intended } = action;
    switch (kind) {
      case 'start':
        await this.#start(robot);
        return;
      case 'ping':
        return this.#ping(action);
      case 'list':
        return this.#list(action);
      case 'rollout':
        return this.#rollout(action);
      case 'storm':
        await robot.storm();
        await this.#timed(record, 'reconnect.ms', intended, robot.whenOnline());
        return;
      case 'partition':
        await robot.cutOff();
        await this.#waits.until(intended + scheduleMs(phase));
        await this.#timed(record, 'reconnect.ms', intended + scheduleMs(phase), robot.rejoin());
        return;
      case 'kill': {
        const down = phase.do === 'kill' && phase.down !== undefined ? durationMs(phase.down) : DEFAULT_DOWN_MS;
        robot.kill();
        await this.#waits.until(intended + down);
        if (this.#waits.ended) return;
        await robot.restart();
        await this.#timed(record, 'reconnect.ms', intended + down, robot.whenOnline());
        return;
      }
      case 'clock-skew':
        if (phase.do === 'clock-skew') {
          robot.skewClock(phase.by.startsWith('-') ? -durationMs(phase.by.slice(1)) : durationMs(phase.by));
        }
        return;
      case 'stop':
        return robot.stop();
    }
  }

  async #start(robot: Robot): Promise<void> {
    const { robotsDir } = this.#config;
    if (this.#uplinks?.needKeys === true) {
      const identity = join(robotsDir, String(robot.index), 'identity', 'private-key.pem');
      await installKey(keyFile(this.#keys, robot.index), identity);
    }
    await robot.start();
    await this.#waits.atMost(monotonicMs() + SETTLE_MS, robot.whenOnline());
  }

  async #ping({ robot, record, intended }: Action): Promise<void> {
    const { deviceId, state } = robot;
    if (this.#client === undefined || deviceId === undefined) return;
    record.count('ping.attempts');
    record.count('ping.errors', 0);
    const code = await this.#client.ping(deviceId);
    if (code === 'success') record.time('ping.ms', monotonicMs() - intended);
    else record.count(state === 'online' && robot.state === 'online' ? 'ping.errors' : 'ping.offline');
  }

  async #list({ robot, record, intended, index, turn }: Action): Promise<void> {
    const { seed, robots } = this.#config;
    const offset = random(`${seed}/phase ${index}/page/${robot.index}/${turn}`).integer(0, Math.max(robots - 1, 0));
    await this.#http(record, intended, (client) => client.listDevices(100, offset));
  }

  async #rollout({ robot, record, intended, at, phase, index, rollable, outcome }: Action): Promise<void> {
    const { deviceId } = robot;
    record.count('rollout.attempts');
    record.count('rollout.missed', 0);
    const row: RolloutRow = {
      robot: robot.index,
      name: robot.name,
      deployment_id: null,
      phase: index,
      at_ms: at,
      total_ms: null,
      command_ms: null,
      sync_ms: null,
      write_ms: null,
      event_ms: null,
      report_ms: null,
    };
    outcome.rollouts.push(row);
    const within = phase.do === 'rollout' && phase.within !== undefined ? durationMs(phase.within) : DEFAULT_WITHIN_MS;
    try {
      if (deviceId === undefined || rollable === undefined) return;
      const deploymentId = await this.#http(record, intended, (client) =>
        client.deploy(deviceId, rollable, `Roll-out of phase ${index}`),
      );
      row.deployment_id = deploymentId;
      await this.#rollouts.follow({
        robot,
        deploymentId,
        posted: intended,
        record,
        row,
        deadline: intended + within,
        waits: this.#waits,
      });
    } finally {
      if (row.total_ms === null) {
        outcome.missed.push(robot.name);
        record.count('rollout.missed');
      }
    }
  }

  async #http<T>(record: Recorder, intended: number, send: (client: PlatformClient) => Promise<T>): Promise<T> {
    if (this.#client === undefined) throw new Error('this fleet has no platform');
    record.count('http.attempts');
    record.count('http.errors', 0);
    try {
      const answer = await send(this.#client);
      record.time('http.ms', monotonicMs() - intended);
      return answer;
    } catch (error) {
      record.count('http.errors');
      throw error;
    }
  }

  async #timed(record: Recorder, name: string, from: number, what: Promise<void>): Promise<void> {
    await this.#waits.atMost(monotonicMs() + SETTLE_MS, what);
    record.time(name, monotonicMs() - from);
  }

  #failed(kind: ActionKind, { record, robot, outcome }: Action, error: unknown): void {
    if (this.#waits.ended) return;
    record.count(`${kind}.errors`);
    if (outcome.errors.length < MAX_ERRORS) outcome.errors.push(`${kind} of ${robot.name}: ${this.#words(error)}`);
    if (error instanceof PlatformFailure && error.status > 0) record.count(`http.status.${error.status}`);
    for (let at = error; at instanceof Error; at = at.cause) {
      if ('code' in at && typeof at.code === 'string' && EXHAUSTED.has(at.code)) this.#metrics.count('exhausted');
    }
  }

  /** A platform may repeat in its answer what it was sent. */
  #words(error: unknown): string {
    const text = error instanceof Error ? error.message : String(error);
    const { platform } = this.#config;
    return platform === undefined || platform.apiKey === '' ? text : text.replaceAll(platform.apiKey, '***');
  }

  #tick(): void {
    const robots: Partial<Record<RobotState, number>> = {};
    for (const { state } of this.#robots.values()) robots[state] = (robots[state] ?? 0) + 1;
    const waiting = this.#config.members.length - this.#robots.size;
    if (waiting > 0) robots.waiting = waiting;
    const interval = this.#metrics.takeInterval();
    this.#events.onTick({ robots, interval, load: this.#sampler.take(), measuring: this.#metrics.measuring });
  }
}
