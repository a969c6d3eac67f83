/**
 * What the coordinator asks of a host of robots, in this process or in a worker process. Everything here travels as
 * JSON.
 */

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
import type { TracedRollouts } from './traced.ts';

// The state of each robot of a host as a letter, for somebody who looks on.

/** How a robot stands with the newest roll-out to it. */
export type RolloutState = 'pending' | 'reached' | 'missed';

const LETTERS: Readonly<Record<RobotState, string>> = {
  waiting: '.',
  connecting: 'c',
  online: 'o',
  'cut off': 'x',
  down: 'd',
  stopped: 's',
  refused: 'r',
};
const ROLLOUT_LETTERS: Readonly<Record<RolloutState, string>> = { pending: 'p', reached: 'u', missed: 'm' };

/** The letter of a robot: one that is online shows how it stands with its roll-out. */
export const letterOf = (state: RobotState, rollout: RolloutState | undefined): string =>
  state === 'online' && rollout !== undefined ? ROLLOUT_LETTERS[rollout] : LETTERS[state];

/** The letters that have changed: of the robot `at[i]`, the letter `text[i]`. */
export interface StateChanges {
  at: number[];
  text: string;
}

/** `orderly`: robots end in order. `abandon`: at once, for an interrupt. */
export type StopMode = 'orderly' | 'abandon';

export interface Host {
  /** Starts one of its robots ahead of all others and stops it again. Call before `prepare`. */
  runCanary(robot: number): Promise<CanaryOutcome>;
  /** Generates missing keys. */
  prepare(): Promise<void>;
  /** Carries out one phase. Resolves when everything that it started has ended or run out of time. */
  runPhase(request: PhaseRequest): Promise<PhaseOutcome>;
  /** What has come of the scenario's phase so far; undefined when none has begun. */
  soFar(): Promise<PhaseOutcome | undefined>;
  /** Takes more robots, of a fleet that has now `robots` in all, and generates their keys. */
  grow(members: number[], robots: number): Promise<void>;
  /**
   * Lets subscribers catch up, then reports what they never read. Resolves with roll-outs that arrived after their
   * phase had ended.
   */
  finish(): Promise<LateRollout[]>;
  /** Id of the newest event that the first subscriber of each robot has read, by robot. */
  cursors(): Promise<Record<number, number>>;
  snapshot(): Promise<Snapshot>;
  /** Sets how many bytes of the platform's answers it tells a second. */
  sample(bytesPerSecond: number): Promise<void>;
  /** Resident bytes of the host's process. */
  memory(): Promise<number>;
  /** Ends every robot. */
  stop(how: StopMode): Promise<void>;
}

/** The calls that cross to a worker process. */
export const HOST_CALLS = [
  'runCanary',
  'prepare',
  'runPhase',
  'soFar',
  'grow',
  'finish',
  'cursors',
  'snapshot',
  'sample',
  'memory',
  'stop',
] as const satisfies (keyof Host)[];
export type HostCall = (typeof HOST_CALLS)[number];

/** What a host has of the options of its fleet. */
export interface HostConfig {
  /** Shown in results, e.g. `worker 2`. */
  name: string;
  /** The robots of this host, by index. */
  members: number[];
  /** Robots of the whole fleet, over all shards. */
  robots: number;
  seed: number;
  scenario: Scenario;
  /** `undefined`: robots without an uplink. */
  platform: PlatformAddress | undefined;
  /**
   * Connections to the platform that a host may open, beside those of the robots' uplinks. Default: what its robots
   * leave of its file descriptors.
   */
  connections?: number;
  /** What the platform has in place of routes that it lacks. Default: it lacks none. */
  offer?: Offer;
  /** The range of local addresses from which robots connect, e.g. 127.0.0.0/8. Default: the system chooses. */
  source?: string;
  /** Size of the robots' RSA keys. */
  keyBits: number;
  /** Robots are called `<prefix>-000042`. Keys belong to the prefix: the same prefix is the same fleet. */
  namePrefix: string;
  /** Folder of the robots' keys, kept from run to run. */
  stateDir: string;
  /** Holds a folder for each robot. */
  robotsDir: string;
  /** Holds a Unix socket for each robot. A short path, because paths of sockets are limited. */
  socketsDir: string;
  /** Where subscribers resume, for a host that replaces one that was killed. */
  cursors?: Record<number, number>;
  /** Leaves the robots' files (event logs, config files, identities) behind. */
  keep?: boolean;
  /** Tells the states of single robots. */
  watched?: boolean;
  /** How many bytes of the platform's answers it tells a second, at first, for whoever judges them. Default: none. */
  sampled?: number;
  /** Which roll-outs carry a `traceparent`. Default: none. */
  traced?: TracedRollouts;
  /** Lists every action in `PhaseOutcome.trace`. */
  trace?: boolean;
  /** Plants defects in robots, by index: names of `simulators/defects/device`. */
  defects?: Record<number, string>;
}

/** What a host tells by itself. It crosses back from a worker process as it is. */
export type HostNotice =
  | { tick: HostTick }
  /** Key pairs that are there. */
  | { keys: number }
  | { violation: Violation }
  /** The first trouble of each kind. */
  | { disturbance: Disturbance }
  /** Of a fleet whose platform is judged. */
  | AnswersTold
  /** The states of robots that have changed, of a fleet that is watched. */
  | { states: StateChanges };

/** Sent about once a second. */
export interface HostTick {
  robots: Partial<Record<RobotState, number>>;
  /** Durations since the last tick, and counters since the start. */
  interval: Snapshot;
  load: LoadSample;
  /** Whether the load of this second says how the generator kept up. */
  judged: boolean;
  /** Why a robot that should be online is not. */
  trouble?: string;
}

export interface PhaseRequest {
  /** The place in the scenario; what is no part of it comes after the last. */
  index: number;
  /** Under which its figures are told. Default: by its place and the kind of the phase there. */
  label?: string;
  /** How often the scenario has been carried out before: each time draws anew. Default 0. */
  round?: number;
  phase: Phase;
  /** Start of the phase on the shared clock, milliseconds. */
  epoch: number;
  /** What a roll-out deploys. */
  release?: ReleaseFixture;
  /** Done by a person beside the phases of the scenario, which decide what is measured. */
  byHand?: boolean;
  /** The robots that take part, where not all do. */
  only?: number[];
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
  /** Messages of the first different failures. */
  errors: string[];
  /** Roll-outs of earlier phases that have arrived since. */
  late: LateRollout[];
}

/** One roll-out to one robot. Milliseconds since the POST; null for a step that was not observed. */
export interface RolloutRow {
  robot: number;
  name: string;
  deployment_id: string | null;
  phase: number;
  /** How often the scenario had been carried out before. Default 0. */
  round?: number;
  /** Intended time of the POST after the phase began. */
  at_ms: number;
  /** Until a client on the robot had read the event; null when it had not in time. */
  total_ms: number | null;
  /** The same of a robot that missed the roll-out, and read the event in the end. */
  late_ms: number | null;
  command_ms: number | null;
  sync_ms: number | null;
  write_ms: number | null;
  event_ms: number | null;
  report_ms: number | null;
  /** Neither read nor missed yet, when the phase was interrupted. */
  open?: boolean;
}

/** A roll-out that was missed by the end of its phase, and arrived later. */
export interface LateRollout {
  deployment_id: string;
  late_ms: number;
}

interface TracedAction {
  robot: number;
  phase: number;
  kind: ActionKind;
  /** Intended time after the phase began, milliseconds. */
  at_ms: number;
}

/** How a robot fared that started ahead of all others. `message` is for people. */
export type CanaryOutcome =
  | { end: 'online' }
  /**
   * `slow`: it was not online in time, but nothing refused it. `refused`: the platform does not take it, which may
   * concern it alone, e.g. a name that is taken. `fatal`: no other robot would come online.
   */
  | { end: 'slow' | 'refused' | 'fatal'; message: string };
