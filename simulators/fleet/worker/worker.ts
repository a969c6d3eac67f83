/** Worker that runs robots, in a process of its own or in the coordinator's; arguments and results are JSON. */

import type { Snapshot } from '../measure/metrics.ts';
import type { LoadSample } from '../measure/saturation.ts';
import type { AnswersTold } from '../platform/answers.ts';
import type { PlatformAddress, ReleaseFixture } from '../platform/client.ts';
import type { Offer } from '../platform/survey.ts';
import type { Violation } from '../result/result.ts';
import type { Disturbance } from '../result/verdict.ts';
import type { RobotState } from '../robot/robot.ts';
import type { Phase, Scenario } from '../scenario/scenario.ts';

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

export const letterOf = (state: RobotState, rollout: RolloutState | undefined): string =>
  LETTERS[state === 'online' && rollout !== undefined ? rollout : state];

export interface StateChanges {
  at: number[];
  text: string;
}

/** `abandon` ends the robots immediately; `orderly` lets them finish their work. */
export type StopMode = 'orderly' | 'abandon';

export interface Worker {
  /** Undefined for a worker in the coordinator's process. */
  readonly pid?: number | undefined;
  /** Starts and stops one robot, to find failures early; call before `prepare`. */
  runCanary(robot: number): Promise<CanaryOutcome>;
  prepare(): Promise<void>;
  runPhase(request: PhaseRequest): Promise<PhaseOutcome>;
  soFar(): Promise<PhaseOutcome | undefined>;
  grow(members: number[], robots: number): Promise<void>;
  finish(): Promise<LateRollout[]>;
  snapshot(): Promise<Snapshot>;
  memory(): Promise<number>;
  stop(how: StopMode): Promise<void>;
}

export type WorkerMethod = Exclude<keyof Worker, 'pid'>;
export type WorkerCall =
  | { [Method in WorkerMethod]: { method: Method; args: Parameters<Worker[Method]> } }[WorkerMethod]
  | { method: 'configure'; args: [WorkerConfig] };

export interface WorkerConfig {
  name: string;
  members: number[];
  robots: number;
  seed: number;
  scenario: Scenario;
  platform: PlatformAddress | undefined;
  connections?: number;
  offer?: Offer;
  keyBits: number;
  /** Prefix of the robots' names; a later fleet with the same prefix reuses their keys. */
  namePrefix: string;
  stateDir: string;
  robotsDir: string;
  /** Folder of the sockets; must be short, because the system limits the length of a socket's path. */
  socketsDir: string;
  keep?: boolean;
  watched?: boolean;
  /** Maximum bytes per second of platform answers that the worker passes on for checks. Default: no answers. */
  sampled?: number;
  /** Defects from `simulators/defects/device`, by index of the robot. */
  defects?: Record<number, string>;
}

export type WorkerNotice =
  | { tick: WorkerTick }
  | { keys: number }
  | { violation: Violation }
  | { disturbance: Disturbance }
  | AnswersTold
  | { states: StateChanges };

export interface WorkerTick {
  robots: Partial<Record<RobotState, number>>;
  interval: Snapshot;
  load: LoadSample;
  /** False between phases, and for a warm-up, burst or incomplete second, whose load the verdict ignores. */
  judged: boolean;
  trouble?: string;
}

export interface PhaseRequest {
  /** Index in the scenario; higher for a phase that a user starts. */
  index: number;
  /** Undefined for a phase that a user starts. */
  label?: string;
  /** Number of earlier passes through the scenario; changes the random numbers. Default 0. */
  round?: number;
  phase: Phase;
  /** Start of the phase (`monotonicMs`). */
  epoch: number;
  release?: ReleaseFixture;
  only?: number[];
}

export interface PhaseOutcome {
  actions: number;
  rollouts: RolloutRow[];
  notStarted: number;
  missed: string[];
  failures: FailedAction[];
  late: LateRollout[];
}

/** Times of a roll-out to one robot; a duration is null if its step was not observed. */
export interface RolloutRow {
  robot: number;
  name: string;
  deployment_id: string | null;
  phase: number;
  round?: number;
  /** Milliseconds from the start of the phase to the intended time of the POST. */
  at_ms: number;
  /** Milliseconds from the POST until a client on the robot has read the event; null if missed. */
  total_ms: number | null;
  /** Milliseconds from the POST until a client read the event after the deadline; otherwise null. */
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

export type CanaryOutcome =
  | { end: 'online' }
  /** `slow`: not online in time. `refused`: rejected, e.g. for a taken name. `fatal`: every robot would fail. */
  | { end: 'slow' | 'refused' | 'fatal'; message: string };

export interface FailedAction {
  kind: string;
  robot?: string;
  message: string;
  count: number;
}

const OTHERS = { kind: 'others', message: 'failed in other ways' };

export function addFailure(failures: FailedAction[], failure: FailedAction): void {
  const like = (one: typeof OTHERS): FailedAction | undefined =>
    failures.find(({ kind, message }) => kind === one.kind && message === one.message);
  const isFull = failures.length >= 5;
  const equal = like(failure) ?? (isFull ? like(OTHERS) : undefined);
  if (equal === undefined) failures.push(isFull ? { ...OTHERS, count: failure.count } : { ...failure });
  else equal.count += failure.count;
}

export function failureText({ kind, robot, message, count }: FailedAction): string {
  const who = robot === undefined ? kind : `${kind} of ${robot}`;
  return `${who}: ${message}${count === 1 ? '' : ` (${count.toLocaleString('en')} times)`}`;
}
