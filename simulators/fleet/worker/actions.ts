import { join } from 'node:path';
import { durationMs } from '../../../harness/common/units.ts';
import type { Random } from '../../common/random.ts';
import type { DurationName, Recorder } from '../measure/metrics.ts';
import { isExhausted } from '../measure/saturation.ts';
import {
  masked,
  type PlatformClient,
  PlatformFailure,
  type ReleaseFixture,
  type Sending,
  UNANSWERED,
} from '../platform/client.ts';
import type { DeploymentTiming, Robot } from '../robot/robot.ts';
import { installKey, type KeyStore, keyFile } from '../robot/uplinks.ts';
import { type Phase, TRAFFIC, uplinkOf, withinMs } from '../scenario/scenario.ts';
import { type ActionKind, type Deadlines, monotonicMs, scheduleMs } from '../schedule/schedule.ts';
import {
  addFailure,
  type LateRollout,
  type PhaseOutcome,
  type RolloutRow,
  type RolloutState,
  type WorkerConfig,
} from './worker.ts';

interface Pending {
  robot: Robot;
  deploymentId: string;
  /** Intended time of the POST (`monotonicMs`). */
  posted: number;
  deadline: number;
  record: Recorder;
  row: RolloutRow;
  reports: boolean;
  settle(): void;
}

class Rollouts {
  readonly #pending = new Map<string, Pending>();
  readonly #missed = new Map<string, Pending>();
  readonly late: LateRollout[] = [];
  readonly states = new Map<number, RolloutState>();

  async follow(options: Omit<Pending, 'settle'> & { deadlines: Deadlines }): Promise<void> {
    const key = options.deploymentId;
    const wait = options.deadlines.at(options.deadline);
    this.#pending.set(key, { ...options, settle: wait.finish });
    // Records steps that the robot took before the platform answered the POST.
    this.progress(key, options.robot.timings.of(key));
    await wait.promise;
    const ended = this.#pending.get(key);
    this.#pending.delete(key);
    if (ended === undefined || ended.row.total_ms !== null) return;
    this.#missed.set(key, ended);
    const [oldest] = this.#missed.keys();
    if (this.#missed.size > 100_000 && oldest !== undefined) this.#missed.delete(oldest);
    // Records a late read that came before the roll-out counted as missed.
    const known = options.robot.timings.known(key);
    if (known !== undefined) this.progress(key, known);
  }

  progress(deploymentId: string, timing: DeploymentTiming): void {
    if (timing.read === 0) return;
    const missed = this.#missed.get(deploymentId);
    if (missed !== undefined) {
      this.#missed.delete(deploymentId);
      missed.row.late_ms = timing.read - missed.posted;
      missed.record.time('rollout.late.ms', missed.row.late_ms);
      this.late.push({ deployment_id: deploymentId, late_ms: missed.row.late_ms });
    }
    const pending = this.#pending.get(deploymentId);
    if (pending === undefined) return;
    const { row, record, posted } = pending;
    // Counts a roll-out as missed if its event was read after the deadline, even if the POST was answered later still.
    if (row.total_ms === null && timing.read > pending.deadline) return void pending.settle();
    if (row.total_ms === null) {
      const event = timing.deployed === 0 ? timing.read : timing.deployed;
      this.states.set(row.robot, 'reached');
      row.total_ms = timing.read - posted;
      row.command_ms = timing.syncStarted - posted;
      row.sync_ms = timing.deployCalled - timing.syncStarted;
      row.write_ms = event - timing.deployCalled;
      row.event_ms = timing.read - event;
      record.time('rollout.ms', row.total_ms);
      for (const leg of ['command', 'sync', 'write', 'event'] as const)
        record.time(`rollout.${leg}.ms`, row[`${leg}_ms`] ?? 0);
    }
    if (pending.reports) {
      if (timing.reported === 0) return;
      row.report_ms = timing.reported - timing.read;
      record.time('rollout.report.ms', row.report_ms);
    }
    pending.settle();
  }
}

/** Field `code` in the answer to a ping that reached the device (section 2.5 of the specification). */
const SUCCESS = 'success';
const ONLINE_TIMEOUT_MS = 120_000;

interface Action {
  kind: ActionKind;
  robot: Robot;
  phase: Phase;
  index: number;
  round: number;
  /** Intended time of the action (`monotonicMs`). */
  intended: number;
  at: number;
  record: Recorder;
  release: ReleaseFixture | undefined;
  outcome: PhaseOutcome;
  burst: boolean;
  pages?: Random | undefined;
}

export class Ongoing {
  #now = 0;
  #any = false;

  add(by: number): void {
    this.#now += by;
    this.#any ||= by > 0;
  }

  /** True if anything was going on at any time since the last call. */
  take(): boolean {
    const any = this.#any;
    this.#any = this.#now > 0;
    return any;
  }
}

interface ActionsOptions {
  config: WorkerConfig;
  client: PlatformClient | undefined;
  deadlines: Deadlines;
  keys: KeyStore | undefined;
  onExhausted(): void;
}

export class Actions {
  readonly #options: ActionsOptions;
  readonly #deadlines: Deadlines;
  readonly #open = new Set<RolloutRow>();
  #outcome: PhaseOutcome | undefined;
  readonly bursts = new Ongoing();
  readonly rollouts = new Rollouts();

  constructor(options: ActionsOptions) {
    this.#options = options;
    this.#deadlines = options.deadlines;
  }

  /** Waits until `end`; the wait does not count as a burst, because the robot does nothing. */
  async #rest({ burst }: Action, end: number): Promise<void> {
    this.bursts.add(-Number(burst));
    await this.#deadlines.until(end);
    this.bursts.add(Number(burst));
  }

  async carryOut(action: Action): Promise<void> {
    const { kind, record, robot, outcome, burst } = action;
    this.bursts.add(Number(burst));
    // Leaves actions with a request to `#sent`, which records their lateness when the request is sent.
    if (kind !== 'rollout' && Object.values(TRAFFIC).every((each) => each.action !== kind)) {
      recordLateness(action);
      // Makes a threshold such as `start.errors.count==0` measurable without a failure.
      record.count(`${kind}.errors`, 0);
    }
    try {
      await this.#act(action);
    } catch (error) {
      if (this.#deadlines.ended) return;
      record.count(`${kind}.errors`);
      if (kind === 'start') outcome.notStarted += 1;
      const text = masked(error instanceof Error ? error.message : String(error), this.#options.config.platform);
      const alike = robot.deviceId === undefined ? text : text.replaceAll(robot.deviceId, '{device}');
      const message = alike.replace(/(?<=\/deployments\/)[^/\s)]+/, '{deployment}');
      addFailure(outcome.failures, { kind, robot: robot.name, message, count: 1 });
      if (error instanceof PlatformFailure && error.status > 0) record.count(`http.status.${error.status}`);
      if (isExhausted(error)) this.#options.onExhausted();
    } finally {
      this.bursts.add(-Number(burst));
    }
  }

  async #act(action: Action): Promise<void> {
    const { kind, robot, phase, record, intended } = action;
    switch (kind) {
      case 'start':
        return this.start(robot);
      case 'ping':
        return this.#ping(action);
      case 'list':
      case 'expand':
      case 'read':
        return this.#read(action, kind);
      case 'rollout':
        return this.#rollout(action);
      case 'storm':
        await robot.storm();
        return this.#untilOnline(record, intended, robot);
      case 'partition': {
        const end = intended + scheduleMs(phase);
        await robot.cutOff();
        try {
          await robot.publish(eventsOf(phase));
        } finally {
          await this.#rest(action, end);
          robot.rejoin();
        }
        return this.#untilOnline(record, end, robot);
      }
      case 'kill': {
        const end = intended + durationMs((phase.do === 'kill' ? phase.down : undefined) ?? '1s');
        if (!robot.kill()) return;
        await this.#rest(action, end);
        if (this.#deadlines.ended) return;
        await robot.restart(eventsOf(phase));
        return this.#untilOnline(record, end, robot);
      }
      case 'clock-skew':
        if (phase.do === 'clock-skew')
          robot.skewClock(phase.by.startsWith('-') ? -durationMs(phase.by.slice(1)) : durationMs(phase.by));
        return;
      case 'stop':
        return robot.stop();
    }
  }

  async start(robot: Robot): Promise<void> {
    const { keys, config } = this.#options;
    if (keys !== undefined && uplinkOf(config.scenario, robot.index) === 'agent') {
      const identity = join(config.robotsDir, String(robot.index), 'identity', 'private-key.pem');
      await installKey(keyFile(keys, robot.index), identity);
    }
    await robot.start();
    await this.#online(robot);
  }

  async #ping(action: Action): Promise<void> {
    const { robot, record, intended } = action;
    const { client, config } = this.#options;
    const { deviceId, state, disturbances } = robot;
    if (client === undefined || deviceId === undefined) return recordLateness(action);
    for (const name of ['ping.attempts', 'http.attempts'] as const) record.count(name);
    for (const name of ['ping.errors', 'http.errors'] as const) record.count(name, 0);
    // Only an agent has to answer: polling robots hear no ping, and a device of the uplink `calls` may be offline.
    const isDue = (): boolean =>
      uplinkOf(config.scenario, robot.index) === 'agent' && state === 'online' && robot.disturbances === disturbances;
    const code = await this.#sent(
      action,
      'ping.target.ms',
      (sending) => client.ping(deviceId, sending),
      (answer) => answer === SUCCESS,
    ).catch((error: unknown) => {
      if (!isDue() && error instanceof PlatformFailure && UNANSWERED.has(error.status)) return 'unanswered';
      record.count('http.errors');
      throw error;
    });
    if (code === SUCCESS) record.time('ping.ms', monotonicMs() - intended);
    else record.count(isDue() ? 'ping.errors' : 'ping.offline');
  }

  begin(byHand: boolean): PhaseOutcome {
    const outcome = { actions: 0, notStarted: 0, rollouts: [], missed: [], failures: [], late: [] };
    if (!byHand) this.#outcome = outcome;
    return outcome;
  }

  soFar(): PhaseOutcome | undefined {
    const rollouts = this.#outcome?.rollouts.map((row) => (this.#open.has(row) ? { ...row, open: true } : row));
    return this.#outcome && rollouts && { ...this.#outcome, rollouts, late: this.rollouts.late.splice(0) };
  }

  async #read(action: Action, kind: 'list' | 'read' | 'expand'): Promise<void> {
    const { robot, pages } = action;
    const { robots, offer = {} } = this.#options.config;
    const { devices, expand = 'current_deployment', readsPages } = offer;
    const listed = Math.max(devices?.length ?? robots, 1);
    const { deviceId } = robot;
    await this.#http<unknown>(action, `${kind}.ms`, (client, sending) => {
      if (kind === 'read' && readsPages !== true && deviceId !== undefined) return client.readDevice(deviceId, sending);
      if (kind === 'read') return client.listPage({ limit: 1, offset: robot.index % listed }, sending);
      const offset = pages?.integer(0, listed - 1) ?? 0;
      const more = kind === 'expand' ? expand : undefined;
      return client.listPage({ limit: 100, offset, expand: more }, sending);
    });
  }

  async #rollout(action: Action): Promise<void> {
    const { robot, record, intended, phase, index, round, release, outcome } = action;
    const { deviceId } = robot;
    record.count('rollout.attempts');
    record.count('rollout.missed', 0);
    const row: RolloutRow = {
      robot: robot.index,
      name: robot.name,
      deployment_id: null,
      phase: index,
      ...(round > 0 && { round }),
      at_ms: action.at,
      total_ms: null,
      late_ms: null,
      command_ms: null,
      sync_ms: null,
      write_ms: null,
      event_ms: null,
      report_ms: null,
    };
    outcome.rollouts.push(row);
    this.#open.add(row);
    this.rollouts.states.set(robot.index, 'pending');
    try {
      if (deviceId === undefined || release === undefined) return recordLateness(action);
      const { id: deploymentId } = await this.#http(action, 'deploy.ms', (client, sending) =>
        client.deploy(deviceId, release, `Roll-out of phase ${index}`, sending),
      );
      row.deployment_id = deploymentId;
      await this.rollouts.follow({
        robot,
        deploymentId,
        posted: intended,
        record,
        row,
        reports: uplinkOf(this.#options.config.scenario, robot.index) === 'agent',
        deadline: intended + (phase.do === 'rollout' ? withinMs(phase) : 0),
        deadlines: this.#deadlines,
      });
    } finally {
      this.#open.delete(row);
      if (row.total_ms === null) {
        this.rollouts.states.set(robot.index, 'missed');
        outcome.missed.push(robot.name);
        record.count('rollout.missed');
      }
    }
  }

  async #http<T>(
    action: Action,
    operation: DurationName,
    send: (client: PlatformClient, sending: Sending) => Promise<T>,
  ): Promise<T> {
    const { kind, record, intended } = action;
    const { client } = this.#options;
    if (client === undefined) throw new Error('this fleet has no platform');
    record.count('http.attempts');
    for (const name of ['http.errors', `${kind}.errors`] as const) record.count(name, 0);
    try {
      const answer = await this.#sent(action, 'http.target.ms', (sending) => send(client, sending));
      const ms = monotonicMs() - intended;
      record.time('http.ms', ms);
      record.time(operation, ms);
      return answer;
    } catch (error) {
      record.count('http.errors');
      throw error;
    }
  }

  async #sent<T>(
    action: Action,
    target: DurationName,
    send: (sending: Sending) => Promise<T>,
    counts: (answer: T) => boolean = () => true,
  ): Promise<T> {
    let at: number | undefined;
    const onSent = (): void => {
      at = monotonicMs();
      recordLateness(action, at);
    };
    try {
      const answer = await send({ onSent, patient: action.burst });
      if (at !== undefined && counts(answer)) action.record.time(target, monotonicMs() - at);
      return answer;
    } finally {
      if (at === undefined) recordLateness(action);
    }
  }

  async #untilOnline(record: Recorder, from: number, robot: Robot): Promise<void> {
    let least = 0;
    try {
      await this.#online(robot);
    } catch (error) {
      // Counts a refused robot as away for the whole wait, because a refusal comes faster than a reconnection.
      least = ONLINE_TIMEOUT_MS;
      throw error;
    } finally {
      record.time('reconnect.ms', Math.max(least, monotonicMs() - from));
    }
  }

  async #online(robot: Robot): Promise<void> {
    if (await this.#deadlines.reached(monotonicMs() + ONLINE_TIMEOUT_MS, robot.whenOnline())) return;
    const { trouble } = robot;
    throw new Error(`not online after ${ONLINE_TIMEOUT_MS / 1000} s${trouble === undefined ? '' : `: ${trouble}`}`);
  }
}

const recordLateness = ({ record, intended, burst }: Action, at = monotonicMs()): void =>
  record.time(burst ? 'schedule.burst.ms' : 'schedule.lateness.ms', at - intended);

const eventsOf = (phase: Phase): number => ('events' in phase ? (phase.events ?? 0) : 0);
