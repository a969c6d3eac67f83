/** What the coordinator asks of a host of robots, be it in this process or in a worker: everything here travels as JSON. */
import type { Snapshot } from '../measure/metrics.ts';
import type { LoadSample } from '../measure/saturation.ts';
import type { Rollable } from '../platform/client.ts';
import type { Violation } from '../result/result.ts';
import type { RobotState } from '../robot/robot.ts';
import type { Phase, Scenario } from '../scenario/scenario.ts';
import type { ActionKind } from '../schedule/plan.ts';
import type { TrialOutcome } from './canary.ts';

/** Where the platform is. The API key travels over the channel between processes, never in arguments or the environment. */
export interface PlatformAddress {
  /** Base of the Platform API. */
  url: string;
  /** Below which the agent API lies. */
  agentUrl: string;
  /** Default: where an agent looks for itself, port 8883 with TLS or 1883 on loopback. */
  mqttUrl?: string | undefined;
  apiKey: string;
  dialect?: 'spec' | 'miru';
}

/** A platform may repeat in its answer what it was sent. */
export const masked = (text: string, platform: PlatformAddress | undefined): string =>
  platform === undefined || platform.apiKey === '' ? text : text.replaceAll(platform.apiKey, '***');

export interface HostConfig {
  /** Shown in results, e.g. `worker 2`. */
  name: string;
  /** The robots of this host. */
  members: number[];
  /** Of the whole fleet. */
  robots: number;
  seed: number;
  scenario: Scenario;
  platform: PlatformAddress | undefined;
  keyBits: number;
  /** Robots are called `<prefix>-000042`. */
  namePrefix: string;
  /** Keys, kept from run to run. */
  stateDir: string;
  /** The robots' own directories, one each, are made in here. */
  robotsDir: string;
  /** Unix sockets, one a robot: short, because their paths are limited. */
  socketsDir: string;
  /** Where subscribers go on, for a host that takes the place of one that was killed. */
  cursors?: Record<number, number>;
  retain: number;
  durability: 'os' | 'sync';
  /** Keeps a list of every action carried out. */
  trace: boolean;
  /** Robots that deviate on purpose: names of `simulators/defects/device` by index. */
  defects: Record<number, string>;
}

/** One roll-out to one robot: milliseconds since the POST, and null for what never happened or was not seen. */
export interface RolloutRow {
  robot: number;
  name: string;
  deployment_id: string | null;
  phase: number;
  /** Intended moment of the POST after the phase began. */
  at_ms: number;
  total_ms: number | null;
  command_ms: number | null;
  sync_ms: number | null;
  write_ms: number | null;
  event_ms: number | null;
  report_ms: number | null;
}

export interface PhaseOutcome {
  /** Actions carried out. */
  actions: number;
  rollouts: RolloutRow[];
  /** Robots that did not come online. */
  notStarted: number;
  /** Names of robots that read no event of their roll-out in time. */
  missed: string[];
  trace: TracedAction[];
  /** The first failures of each kind of action, in words. */
  errors: string[];
}

export interface TracedAction {
  robot: number;
  phase: number;
  kind: ActionKind;
  /** Intended moment after the phase began. */
  at_ms: number;
}

/** Sent about once a second. */
export interface HostTick {
  robots: Partial<Record<RobotState, number>>;
  /** New durations since the last tick; counters are whole. */
  interval: Snapshot;
  load: LoadSample;
  measuring: boolean;
  /** Why a robot that should be online is not. */
  trouble?: string;
}

export interface HostEvents {
  onTick(tick: HostTick): void;
  onKeys(done: number): void;
  onViolation(violation: Violation): void;
}

export interface Host {
  readonly name: string;
  /** Starts one of its robots ahead of all others and stops it again. Call before `prepare`. */
  tryOut(robot: number): Promise<TrialOutcome>;
  /** Makes keys that are missing. */
  prepare(): Promise<void>;
  /** Carries out one phase; resolves when everything it set off has ended, or could not in time. */
  runPhase(request: PhaseRequest): Promise<PhaseOutcome>;
  /** Waits for subscribers to read what is left, then reports what was never read. */
  finish(): Promise<void>;
  /** Newest event that the first subscriber of each robot has read. */
  cursors(): Promise<Record<number, number>>;
  snapshot(): Promise<Snapshot>;
  /** Resident bytes of the host's process. */
  memory(): Promise<number>;
  /** Ends every robot: in order, or (`abandon`) at once. */
  stop(how: 'orderly' | 'abandon'): Promise<void>;
}

export interface PhaseRequest {
  index: number;
  phase: Phase;
  /** When it begins, on the shared monotonic clock. */
  epoch: number;
  /** For a roll-out. */
  rollable?: Rollable;
}
