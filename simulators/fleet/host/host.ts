/** Calls of the coordinator to a host of robots, in this process or a worker process. All values cross as JSON. */

import type { Snapshot } from '../measure/metrics.ts';
import type { LoadSample } from '../measure/saturation.ts';
import type { AnswersTold } from '../platform/answers.ts';
import type { PlatformAddress, ReleaseFixture } from '../platform/client.ts';
import type { Offer } from '../platform/survey.ts';
import type { Violation } from '../result/result.ts';
import type { Disturbance } from '../result/verdict.ts';
import type { RobotState } from '../robot/robot.ts';
import type { Phase, Scenario } from '../scenario/scenario.ts';
import type { ActionKind } from '../schedule/schedule.ts';

export type RolloutState = 'pending' | 'reached' | 'missed';

const LETTERS: Readonly<Record<RobotState | RolloutState, string>> = {
  waiting: '.',
  connecting: 'c',
  online: 'o',
  'cut off': 'x',
  down: 'd',
  stopped: 's',
  refused: 'r',
  pending: 'p',
  reached: 'u',
  missed: 'm',
};

/** Letter of a robot; an online robot shows the state of its roll-out. */
export const letterOf = (state: RobotState, rollout: RolloutState | undefined): string =>
  LETTERS[state === 'online' && rollout !== undefined ? rollout : state];

/** Changed letters: robot `at[i]` now has `text[i]`. */
export interface StateChanges {
  at: number[];
  text: string;
}

/** `orderly`: robots end in order. `abandon`: at once, for an interrupt. */
export type StopMode = 'orderly' | 'abandon';

export interface Host {
  /** Starts one robot ahead of the others and stops it again. Call before `prepare`. */
  runCanary(robot: number): Promise<CanaryOutcome>;
  prepare(): Promise<void>;
  /** Runs one phase. Resolves once everything it started has ended or timed out. */
  runPhase(request: PhaseRequest): Promise<PhaseOutcome>;
  soFar(): Promise<PhaseOutcome | undefined>;
  /** Adds robots to a fleet that now has `robots` in all, and generates their keys. */
  grow(members: number[], robots: number): Promise<void>;
  /** Lets subscribers catch up, then reports unread events. Resolves with roll-outs that arrived after their phase. */
  finish(): Promise<LateRollout[]>;
  snapshot(): Promise<Snapshot>;
  memory(): Promise<number>;
  stop(how: StopMode): Promise<void>;
}

export const HOST_CALLS = [
  'runCanary',
  'prepare',
  'runPhase',
  'soFar',
  'grow',
  'finish',
  'snapshot',
  'memory',
  'stop',
] as const satisfies (keyof Host)[];
export type HostCall = (typeof HOST_CALLS)[number];

export interface HostConfig {
  /** Shown in results, e.g. `worker 2`. */
  name: string;
  members: number[];
  /** Robots of the whole fleet, over all shards. */
  robots: number;
  seed: number;
  scenario: Scenario;
  /** Undefined for robots without an uplink. */
  platform: PlatformAddress | undefined;
  /**
   * Most connections to the platform besides the robots' uplinks. Default: the file descriptors that its robots leave.
   */
  connections?: number;
  /** Replacements for routes that the platform lacks. Default: none. */
  offer?: Offer;
  keyBits: number;
  /** Robots are named `<prefix>-000042`. Keys belong to the prefix: the same prefix is the same fleet. */
  namePrefix: string;
  /** Folder of the robots' keys, kept between runs. */
  stateDir: string;
  robotsDir: string;
  /** Folder of the robots' Unix sockets; a short path, because socket paths are limited. */
  socketsDir: string;
  keep?: boolean;
  watched?: boolean;
  /** Bytes a second of platform answers passed on for judging. Default: none. */
  sampled?: number;
  trace?: boolean;
  /** Defects by robot: names in `simulators/defects/device`. */
  defects?: Record<number, string>;
}

export type HostNotice =
  | { tick: HostTick }
  | { keys: number }
  | { violation: Violation }
  | { disturbance: Disturbance }
  | AnswersTold
  | { states: StateChanges };

export interface HostTick {
  robots: Partial<Record<RobotState, number>>;
  /** Durations since the last tick; counters since the start. */
  interval: Snapshot;
  load: LoadSample;
  /** Whether this load counts for the verdict: false during warm-up and bursts. */
  judged: boolean;
  trouble?: string;
}

export interface PhaseRequest {
  /** Place in the scenario; a phase outside it comes after the last. */
  index: number;
  /** Label of its figures. Without one, a user started it beside the scenario, whose phases decide what is measured. */
  label?: string;
  /** Earlier passes of the scenario; each pass draws anew. Default 0. */
  round?: number;
  phase: Phase;
  /** Start of the phase on the shared clock, milliseconds. */
  epoch: number;
  release?: ReleaseFixture;
  only?: number[];
}

export interface PhaseOutcome {
  actions: number;
  rollouts: RolloutRow[];
  notStarted: number;
  missed: string[];
  trace: { robot: number; phase: number; kind: ActionKind; at_ms: number }[];
  /** The first few failures that differ in more than the robot. */
  failures: FailedAction[];
  late: LateRollout[];
}

/** One roll-out to one robot. Durations in milliseconds; null for a step that was not observed. */
export interface RolloutRow {
  robot: number;
  name: string;
  deployment_id: string | null;
  phase: number;
  round?: number;
  /** Intended time of the POST since the start of the phase. */
  at_ms: number;
  /** Time from the POST to the event read by a client on the robot; null if missed. */
  total_ms: number | null;
  /** Same, for an event read after its deadline. */
  late_ms: number | null;
  command_ms: number | null;
  sync_ms: number | null;
  write_ms: number | null;
  event_ms: number | null;
  report_ms: number | null;
  open?: boolean;
}

export interface LateRollout {
  deployment_id: string;
  late_ms: number;
}

/** Outcome of the robot started ahead of the others. `message` is for people. */
export type CanaryOutcome =
  | { end: 'online' }
  /**
   * `slow`: not online in time, yet not refused. `refused`: rejected by the platform, perhaps for this robot alone,
   * e.g. a taken name. `fatal`: no other robot could come online.
   */
  | { end: 'slow' | 'refused' | 'fatal'; message: string };

// Failures of actions: those that differ only in the robot are one, with a count.

export interface FailedAction {
  /** Kind of action, or `by hand`. */
  kind: string;
  robot?: string;
  message: string;
  count: number;
}

/** Adds to the count of an equal failure, or keeps a copy of one of the first few. */
export function addFailure(failures: FailedAction[], failure: FailedAction): void {
  const equal = failures.find(({ kind, message }) => kind === failure.kind && message === failure.message);
  if (equal !== undefined) equal.count += failure.count;
  else if (failures.length < 5) failures.push({ ...failure });
}

export function failureText({ kind, robot, message, count }: FailedAction): string {
  const who = robot === undefined ? kind : `${kind} of ${robot}`;
  return `${who}: ${message}${count === 1 ? '' : ` (${count.toLocaleString('en')} times)`}`;
}
