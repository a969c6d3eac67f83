/** Runs robots in this process. One robot, the canary, starts first, to find a failure of all robots within seconds. */
import { mkdirSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { defined } from '../../../harness/common/defined.ts';
import { isPassing, Patience, pollWithin } from '../../../harness/common/waiting.ts';
import { loadCompiler } from '../../../harness/contract/shape.ts';
import { ApiError } from '../../common/platform-http.ts';
import type { DeviceDefect } from '../../defects/device/index.ts';
import { referenceBehaviour } from '../../device/behaviour.ts';
import { BrokerError, NotMqtt } from '../../device/uplink/mqtt.ts';
import { Metrics, type Snapshot } from '../measure/metrics.ts';
import { isExhausted, type LoadSample, SaturationSampler } from '../measure/saturation.ts';
import { AnswerSampler } from '../platform/answers.ts';
import { isPermanent, masked, PlatformClient, PlatformFailure } from '../platform/client.ts';
import type { DisturbanceKind } from '../result/verdict.ts';
import { Robot, type RobotListener, type RobotState } from '../robot/robot.ts';
import { ensureKeys, fleetUplinks, type KeyStore, type MakeUplink } from '../robot/uplinks.ts';
import { classOf, robotName, settingsOf, USUAL_RETAIN, uplinkOf, uplinksIn } from '../scenario/scenario.ts';
import { type ActionStream, Deadlines, monotonicMs, runSchedule, scheduleMs, streamsOf } from '../schedule/schedule.ts';
import { Actions, Ongoing } from './actions.ts';
import {
  type CanaryOutcome,
  type LateRollout,
  letterOf,
  type PhaseOutcome,
  type PhaseRequest,
  type StopMode,
  type Worker,
  type WorkerConfig,
  type WorkerNotice,
} from './worker.ts';

/** Shortest RSA key in bits that most platforms accept. */
const USUAL_KEY_BITS = 2048;

type CanaryConfig = Pick<WorkerConfig, 'platform' | 'keyBits'>;

export class Canary {
  readonly #config: CanaryConfig;
  readonly #fatal = Promise.withResolvers<Error>();
  #permanentFailures = 0;
  #last: Error | undefined;

  constructor(config: CanaryConfig) {
    this.#config = config;
  }

  failed(error: Error): void {
    this.#last = error;
    const isRejected = error instanceof BrokerError && (error.credentials || error.cause instanceof NotMqtt);
    if (isRejected || isPermanent(error)) this.#permanentFailures += 1;
    // Ignores a single refused connection, because the server may be restarting.
    if (this.#permanentFailures >= 2) this.#fatal.resolve(error);
  }

  async outcomeOf(robot: Robot, started: Promise<void>, deadlines: Deadlines): Promise<CanaryOutcome> {
    const deadline = deadlines.at(monotonicMs() + 10_000);
    try {
      const settled = started.then(() => 'online' as const).catch((error: Error) => error);
      const ended = await Promise.race([settled, this.#fatal.promise, deadline.promise]);
      if (ended === 'online' || robot.state === 'online') return { end: 'online' };
      if (ended !== undefined && !(ended instanceof PlatformFailure && isPassing(ended.status))) {
        const { end, remedy } = endAfter(ended, this.#config);
        const why = `${masked(ended.message, this.#config.platform)}${remedy === undefined ? '' : `; ${remedy}`}`;
        return { end, message: `the canary ${robot.name} did not come online, and no other robot would: ${why}` };
      }
      const error = ended ?? this.#last;
      const why = error === undefined ? '' : `: ${masked(error.message, this.#config.platform)}`;
      const remedy = error instanceof BrokerError ? `; ${BROKER_REMEDY}` : '';
      const message = `the canary ${robot.name} is not online yet${why}${remedy}; the fleet starts anyway`;
      return { end: 'slow', message };
    } finally {
      deadline.finish();
    }
  }
}

const BROKER_REMEDY =
  '--mqtt mqtt://HOST:PORT sets the address of the broker (`muster simulate platform` prints it as "mqtt" when it is ' +
  'ready)';

function endAfter(error: Error, { platform, keyBits }: CanaryConfig): { end: 'refused' | 'fatal'; remedy?: string } {
  if (error instanceof BrokerError) return { end: 'fatal', remedy: BROKER_REMEDY };
  if (error instanceof PlatformFailure)
    return { end: 'fatal', remedy: 'the API key provisions the robots and needs the scope for provisioning tokens' };
  if (!error.message.includes('/devices/provision')) return { end: 'fatal' };
  const status = error instanceof ApiError ? error.status : 404;
  if (status === 404)
    return { end: 'refused', remedy: `--agent-url sets the base URL of /agent/v1 (now ${platform?.agentUrl})` };
  if (status === 409) {
    const remedy =
      'a device of this name has another key: --state FOLDER names the keys of the run that made it, and ' +
      '--name-prefix NAME makes devices with other names';
    return { end: 'refused', remedy };
  }
  if (![400, 422].includes(status) || keyBits >= USUAL_KEY_BITS) return { end: 'refused' };
  const remedy =
    `the robots have ${keyBits}-bit keys: use --key-bits ${USUAL_KEY_BITS} (\`muster simulate platform ` +
    `--min-key-bits ${keyBits}\` accepts the short ones)`;
  return { end: 'refused', remedy };
}

export class RobotWorker implements Worker {
  #config: WorkerConfig;
  readonly #tell: (notice: WorkerNotice) => void;
  readonly #metrics = new Metrics();
  readonly #sampler = new SaturationSampler();
  readonly #robots = new Map<number, Robot>();
  readonly #abort = new AbortController();
  readonly #deadlines = new Deadlines();
  readonly #client: PlatformClient | undefined;
  readonly #sampled: AnswerSampler | undefined;
  #phase = 'preparing';
  #makeUplink: MakeUplink | undefined;
  #actions: Actions | undefined;
  #ticker: NodeJS.Timeout | undefined;
  #load: LoadSample | undefined;
  #watch: NodeJS.Timeout | undefined;
  readonly #told = new Map<number, string>();
  readonly #defects = new Map<number, DeviceDefect>();
  readonly #listeners = new Map<string | undefined, RobotListener>();
  #canary: Canary | undefined;
  #trouble: Robot | undefined;
  readonly #disturbed = new Set<DisturbanceKind>();
  readonly #phases = new Ongoing();

  constructor(config: WorkerConfig, tell: (notice: WorkerNotice) => void) {
    this.#config = config;
    this.#tell = tell;
    const { platform, connections, sampled } = config;
    if (platform !== undefined && sampled !== undefined) {
      const phase = (): string => this.#phase;
      this.#sampled = new AnswerSampler({ platform, bytesPerSecond: sampled, phase, tell });
    }
    const onAnswer = this.#sampled?.take;
    const onOpened = (ms: number): void => this.#metrics.of().time('http.connect.ms', ms);
    const onCrowded = (): void => this.#metrics.of().count('http.crowded');
    this.#client = platform && new PlatformClient({ ...platform, connections, onAnswer, onOpened, onCrowded });
  }

  async runCanary(index: number): Promise<CanaryOutcome> {
    const actions = await this.#ready();
    await this.#ensureKeys([index], () => {});
    const measuring = this.#metrics.measuring;
    this.#metrics.measuring = false;
    const robot = this.#robotOf(index);
    const canary = new Canary(this.#config);
    this.#canary = canary;
    try {
      return await canary.outcomeOf(robot, actions.start(robot), this.#deadlines);
    } finally {
      this.#canary = undefined;
      await robot.stop();
      this.#robots.delete(index);
      this.#trouble = undefined;
      this.#metrics.measuring = measuring;
    }
  }

  async prepare(): Promise<void> {
    await this.#ready();
    await this.#ensureKeys(this.#config.members, (keys) => this.#tell({ keys }));
    if (this.#abort.signal.aborted) return;
    this.#sampler.start();
    this.#ticker = setInterval(() => this.#tick(), 1000);
    if (this.#config.watched === true) this.#watch = setInterval(() => this.#tellStates(), 250).unref();
  }

  async grow(members: number[], robots: number): Promise<void> {
    await this.#ensureKeys(members, () => {});
    this.#config = { ...this.#config, robots, members: [...this.#config.members, ...members] };
  }

  #tellStates(): void {
    const at: number[] = [];
    let text = '';
    for (const index of this.#config.members) {
      const state = this.#robots.get(index)?.shownState ?? 'waiting';
      const letter = letterOf(state, this.#actions?.rollouts.states.get(index));
      if (this.#told.get(index) === letter) continue;
      this.#told.set(index, letter);
      at.push(index);
      text += letter;
    }
    if (at.length > 0) this.#tell({ states: { at, text } });
  }

  async #ready(): Promise<Actions> {
    if (this.#actions !== undefined) return this.#actions;
    const { members, defects = {} } = this.#config;
    for (const robot of members.filter((each) => defects[each] !== undefined)) {
      const { deviceDefect } = await import('../../defects/device/index.ts');
      this.#defects.set(robot, deviceDefect(defects[robot] ?? ''));
    }
    if (this.#client !== undefined) loadCompiler();
    mkdirSync(this.#config.socketsDir, { recursive: true, mode: 0o700 });
    this.#makeUplink = fleetUplinks({
      ...this.#config,
      client: this.#client,
      onRetry: (error) => this.#disturbance('request.retries', error),
      onCrowded: () => this.#metrics.of().count('uplink.crowded'),
      onAnswer: this.#sampled?.take,
    });
    this.#actions = new Actions({
      config: this.#config,
      client: this.#client,
      deadlines: this.#deadlines,
      keys: this.#keys,
      onExhausted: () => this.#metrics.count('exhausted'),
    });
    return this.#actions;
  }

  async #ensureKeys(robots: readonly number[], onProgress: (done: number) => void): Promise<void> {
    const keys = this.#keys;
    if (keys === undefined) return;
    const agents = robots.filter((robot) => uplinkOf(this.#config.scenario, robot) === 'agent');
    const others = robots.length - agents.length;
    const { signal } = this.#abort;
    await ensureKeys(keys, agents, signal, (done) => onProgress(done + others));
    onProgress(robots.length);
  }

  async runPhase(request: PhaseRequest): Promise<PhaseOutcome> {
    const { index, label, round = 0, phase, epoch, release, only } = request;
    const { seed, robots, members, scenario } = this.#config;
    const actions = this.#actions;
    if (actions === undefined) throw new Error(`${this.#config.name} is not prepared`);
    if (label !== undefined) {
      this.#metrics.beginPhase(label, phase.measure !== false);
      this.#phase = label;
      for (const robot of this.#robots.values()) robot.countZeros();
    }
    const chosen = new Set(only ?? members);
    const taking = members.filter((robot) => chosen.has(robot));
    const plan = { ...scenario, seed: round === 0 ? seed : `${seed}/round ${round}`, robots };
    const streams = streamsOf(plan, index, phase, taking);
    const outcome = actions.begin(label === undefined);
    this.#phases.add(1);
    const underWay = new Set<Promise<void>>();
    await runSchedule({
      epoch,
      streams: streams.map(({ moments }) => moments),
      signal: this.#abort.signal,
      fire: (number, intended) => {
        const { robot: which, kind, burst, pages } = streams[number] as ActionStream;
        const record = this.#metrics.of(classOf(scenario, which));
        const at = intended - epoch;
        outcome.actions += 1;
        const robot = this.#robotOf(which);
        const action = { kind, robot, phase, index, round, intended, at, record, release, outcome, burst, pages };
        const running = actions.carryOut(action).finally(() => underWay.delete(running));
        underWay.add(running);
      },
    });
    await this.#deadlines.until(epoch + scheduleMs(phase));
    await Promise.all(underWay);
    this.#phases.add(-1);
    return { ...outcome, late: actions.rollouts.late.splice(0) };
  }

  soFar(): Promise<PhaseOutcome | undefined> {
    return Promise.resolve(this.#actions?.soFar());
  }

  async finish(): Promise<LateRollout[]> {
    const running = [...this.#robots.values()].filter(({ state }) => state !== 'stopped');
    const patience = new Patience(5000);
    let before = 0;
    const done = (): boolean => {
      const read = running.reduce((sum, { position }) => sum + position, 0);
      if (read > before) patience.renew();
      before = read;
      const isOver = this.#deadlines.ended || patience.leftMs <= 0;
      return isOver || running.every(({ unread }) => unread.length === 0);
    };
    // Waits ten minutes at most, because a robot could publish events for ever.
    await pollWithin('subscribers to catch up', () => done() || undefined, { timeoutMs: 600_000, firstPauseMs: 50 });
    for (const robot of running) robot.finish();
    this.#sampled?.flush();
    return this.#actions?.rollouts.late.splice(0) ?? [];
  }

  snapshot(): Promise<Snapshot> {
    // Reports the part of a second so far, because the coordinator needs these figures if another worker is lost.
    this.#tick(false);
    return Promise.resolve(this.#metrics.snapshot());
  }

  memory(): Promise<number> {
    return Promise.resolve(process.memoryUsage.rss());
  }

  async stop(how: StopMode): Promise<void> {
    this.#abort.abort();
    this.#deadlines.end();
    clearInterval(this.#ticker);
    clearInterval(this.#watch);
    this.#sampler.stop();
    const robots = [...this.#robots.values()];
    if (how === 'abandon') for (const robot of robots) robot.abandon();
    const stopped = await Promise.allSettled([...robots.map((robot) => robot.stop()), this.#client?.close()]);
    const failures = stopped.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    if (failures.length > 0)
      throw new AggregateError(failures, `${this.#config.name}: ${failures.length} robots did not stop cleanly`);
  }

  /** Call after `stop`. The last worker also removes the fleet's empty folders. */
  removeFiles(): void {
    const { robotsDir, socketsDir, keep } = this.#config;
    for (const own of keep ? [socketsDir] : [robotsDir, socketsDir]) {
      rmSync(own, { recursive: true, force: true, maxRetries: 3 });
      for (const above of [dirname(own), dirname(dirname(own))]) {
        try {
          rmdirSync(above);
        } catch {
          // Another worker still uses the folder, or has removed it.
        }
      }
    }
  }

  get #keys(): KeyStore | undefined {
    const { stateDir, keyBits, namePrefix, scenario } = this.#config;
    if (this.#makeUplink === undefined || !uplinksIn(scenario).includes('agent')) return undefined;
    return { dir: join(stateDir, 'keys', namePrefix, String(keyBits)), bits: keyBits };
  }

  #robotOf(index: number): Robot {
    const known = this.#robots.get(index);
    if (known !== undefined) return known;
    const { namePrefix, robotsDir, socketsDir, scenario, seed } = this.#config;
    const { subscribers, retain = USUAL_RETAIN } = settingsOf(scenario, index);
    const behaviour = this.#defects.get(index)?.behaviour(referenceBehaviour);
    const robot = new Robot({
      index,
      name: robotName(namePrefix, index),
      dir: join(robotsDir, String(index)),
      socketPath: join(socketsDir, String(index)),
      subscribers,
      makeUplink: this.#makeUplink,
      device: defined({ retain, durability: 'os' as const, seed: `${seed}/${index}`, behaviour }),
      listener: this.#listenerOf(index),
    });
    this.#robots.set(index, robot);
    return robot;
  }

  #listenerOf(index: number): RobotListener {
    const robotClass = classOf(this.#config.scenario, index);
    const known = this.#listeners.get(robotClass);
    if (known !== undefined) return known;
    const listener: RobotListener = {
      count: (name, by) => this.#metrics.of(robotClass).count(name, by),
      time: (name, ms) => this.#metrics.of(robotClass).time(name, ms),
      disturbed: (kind, error) => this.#disturbance(kind, error, robotClass),
      fault: (robot, { kind, message }) => {
        // Counts violations outside measured phases too, because a single violation fails the run.
        (this.#metrics.measuring ? this.#metrics.of(robotClass) : this.#metrics).count('subscriber.violations');
        this.#tell({ violation: { robot: robot.index, name: robot.name, kind, message } });
      },
      trouble: (robot, error) => {
        this.#trouble = robot;
        this.#canary?.failed(error);
      },
      progress: (deploymentId, timing) => this.#actions?.rollouts.progress(deploymentId, timing),
    };
    this.#listeners.set(robotClass, listener);
    return listener;
  }

  #disturbance(kind: DisturbanceKind, error: Error, robotClass?: string): void {
    this.#metrics.of(robotClass).count(kind);
    if (isExhausted(error)) this.#metrics.of(robotClass).count('exhausted');
    if (!this.#metrics.measuring || this.#disturbed.has(kind)) return;
    this.#disturbed.add(kind);
    this.#tell({ disturbance: { kind, message: masked(error.message, this.#config.platform) } });
  }

  /** `isWhole`: false before a second has passed; the last load is then repeated, because a short sample is noise. */
  #tick(isWhole = true): void {
    this.#sampled?.flush();
    const robots: Partial<Record<RobotState, number>> = {};
    for (const { shownState: state } of this.#robots.values()) robots[state] = (robots[state] ?? 0) + 1;
    const waiting = this.#config.members.length - this.#robots.size;
    if (waiting > 0) robots.waiting = waiting;
    const interval = this.#metrics.takeInterval();
    if (isWhole || this.#load === undefined) this.#load = this.#sampler.take();
    // Excludes bursts, which use the whole machine by design, and idle seconds, which would dilute the others.
    const judged = isWhole && this.#phases.take() && this.#actions?.bursts.take() === false && this.#metrics.measuring;
    const told = this.#trouble?.trouble;
    const trouble = told === undefined ? undefined : masked(told, this.#config.platform);
    this.#tell({ tick: { robots, interval, load: this.#load, judged, ...defined({ trouble }) } });
  }
}
