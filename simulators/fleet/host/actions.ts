/** What each action of a scenario does to a robot, and what is measured of it. */
import { join } from 'node:path';
import { random } from '../../common/random.ts';
import type { Recorder } from '../measure/metrics.ts';
import { type PlatformClient, PlatformFailure, type Rollable } from '../platform/client.ts';
import { installKey, type KeyStore, keyFile } from '../robot/keys.ts';
import type { Robot } from '../robot/robot.ts';
import type { Phase } from '../scenario/scenario.ts';
import { durationMs } from '../scenario/units.ts';
import { type ActionKind, scheduleMs } from '../schedule/plan.ts';
import { monotonicMs } from '../schedule/scheduler.ts';
import type { Waits } from './deadlines.ts';
import { type HostConfig, masked, type PhaseOutcome, type RolloutRow } from './host.ts';
import { Rollouts } from './rollouts.ts';

const DEFAULT_WITHIN_MS = 60_000;
const DEFAULT_DOWN_MS = 1000;
const MAX_ERRORS = 5;
/** How long a robot may take to be online after what took it offline has ended. */
const SETTLE_MS = 120_000;
const PAGE = 100;
const EXHAUSTED = new Set(['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS', 'ENOMEM', 'EAGAIN']);

/** An action that is under way, with where it records. */
export interface Action {
  kind: ActionKind;
  robot: Robot;
  phase: Phase;
  index: number;
  /** Intended moment on the shared clock. */
  intended: number;
  /** Intended moment after the phase began. */
  at: number;
  /** How many of this kind the robot had in this phase before. */
  turn: number;
  record: Recorder;
  rollable: Rollable | undefined;
  outcome: PhaseOutcome;
}

export interface ActionsOptions {
  config: HostConfig;
  client: PlatformClient | undefined;
  waits: Waits;
  /** Where a robot finds its key before it starts; undefined when it needs none. */
  keys: KeyStore | undefined;
  /** Local descriptors, ports or buffers ran out. */
  onExhausted(): void;
}

export class Actions {
  readonly #config: HostConfig;
  readonly #client: PlatformClient | undefined;
  readonly #waits: Waits;
  readonly #keys: KeyStore | undefined;
  readonly #onExhausted: () => void;
  readonly rollouts: Rollouts;

  constructor({ config, client, waits, keys, onExhausted }: ActionsOptions) {
    this.#config = config;
    this.#client = client;
    this.#waits = waits;
    this.#keys = keys;
    this.rollouts = new Rollouts({ reports: (config.scenario.uplink ?? 'agent') === 'agent' });
    this.#onExhausted = onExhausted;
  }

  /** Never rejects: what fails is counted, and the first few failures are told in words. */
  async carryOut(action: Action): Promise<void> {
    try {
      await this.#act(action);
    } catch (error) {
      this.#failed(action, error);
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
        return this.#list(action);
      case 'rollout':
        return this.#rollout(action);
      case 'storm':
        await robot.storm();
        return this.#untilOnline(record, intended, robot);
      case 'partition':
        await robot.cutOff();
        await this.#waits.until(intended + scheduleMs(phase));
        robot.rejoin();
        return this.#untilOnline(record, intended + scheduleMs(phase), robot);
      case 'kill': {
        const down = phase.do === 'kill' && phase.down !== undefined ? durationMs(phase.down) : DEFAULT_DOWN_MS;
        robot.kill();
        await this.#waits.until(intended + down);
        if (this.#waits.ended) return;
        await robot.restart();
        return this.#untilOnline(record, intended + down, robot);
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

  /** Rejects when the platform refuses the robot, or when it was not online in time. */
  async start(robot: Robot): Promise<void> {
    if (this.#keys !== undefined) {
      const identity = join(this.#config.robotsDir, String(robot.index), 'identity', 'private-key.pem');
      await installKey(keyFile(this.#keys, robot.index), identity);
    }
    await robot.start();
    await this.#atMost(robot);
  }

  async #ping({ robot, record, intended }: Action): Promise<void> {
    const { deviceId, state, disturbed } = robot;
    if (this.#client === undefined || deviceId === undefined) return;
    record.count('ping.attempts');
    record.count('ping.errors', 0);
    const code = await this.#client.ping(deviceId);
    if (code === 'success') record.time('ping.ms', monotonicMs() - intended);
    else record.count(state === 'online' && robot.disturbed === disturbed ? 'ping.errors' : 'ping.offline');
  }

  async #list({ robot, record, intended, index, turn }: Action): Promise<void> {
    const { seed, robots } = this.#config;
    const offset = random(`${seed}/phase ${index}/page/${robot.index}/${turn}`).integer(0, Math.max(robots - 1, 0));
    await this.#http(record, intended, (client) => client.listDevices(PAGE, offset));
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
      await this.rollouts.follow({
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

  async #untilOnline(record: Recorder, from: number, robot: Robot): Promise<void> {
    try {
      await this.#atMost(robot);
    } finally {
      record.time('reconnect.ms', monotonicMs() - from);
    }
  }

  async #atMost(robot: Robot): Promise<void> {
    const came = await this.#waits.atMost(monotonicMs() + SETTLE_MS, robot.whenOnline());
    const { trouble } = robot;
    if (!came) throw new Error(`not online after ${SETTLE_MS / 1000} s${trouble === undefined ? '' : `: ${trouble}`}`);
  }

  #failed({ kind, record, robot, outcome }: Action, error: unknown): void {
    if (this.#waits.ended) return;
    record.count(`${kind}.errors`);
    if (kind === 'start') outcome.notStarted += 1;
    const words = masked(error instanceof Error ? error.message : String(error), this.#config.platform);
    const known = outcome.errors.some((other) => other.startsWith(`${kind} of `) && other.endsWith(`: ${words}`));
    if (!known && outcome.errors.length < MAX_ERRORS) outcome.errors.push(`${kind} of ${robot.name}: ${words}`);
    if (error instanceof PlatformFailure && error.status > 0) record.count(`http.status.${error.status}`);
    for (let at = error; at instanceof Error; at = at.cause) {
      if ('code' in at && typeof at.code === 'string' && EXHAUSTED.has(at.code)) this.#onExhausted();
    }
  }
}
