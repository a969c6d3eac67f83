/** What the console shows of a fleet. */

/** One second of a run. */
export interface Second {
  /** Milliseconds after the fleet was created. */
  at: number;
  /** Counters a second. */
  rates: Record<string, number>;
  p50: Record<string, number>;
  p99: Record<string, number>;
  /** Roll-outs that were sent, that a client on the robot has read, and that were missed, since the start. */
  attempts: number;
  reached: number;
  missed: number;
  /** The longest time that a worker did nothing, milliseconds. */
  stallMs: number;
}

/** A phase of the scenario, or something done by hand, on the time axis. */
export interface Band {
  label: string;
  /** A word for it, where there is little room. */
  short?: string;
  /** Milliseconds after the fleet was created. */
  from: number;
  /** Undefined while it goes on. */
  to?: number;
  byHand?: boolean;
}

export interface Standing {
  expr: string;
  /** Undefined when nothing was measured yet. */
  value?: number;
  ok: boolean;
}

/** What the verdict on the load generator would be if the run ended now. */
export interface SoFar {
  verdict: string;
  /** What it may still come to. */
  atBest: string;
  reasons: string[];
}

/** How the run ended. */
export interface Ending {
  outcome: string;
  /** Of the load generator. */
  verdict: string;
  reasons: string[];
  /** Where the results are. */
  out?: string;
}

export interface FleetDocument {
  title: string;
  /** Robots are called `<prefix>-000042`. */
  prefix: string;
  /** A letter for each robot: see `states.ts` of the host. */
  states: string;
  phase: string;
  /** When the first phase began: before it are keys, processes and the canary. Null until then. */
  beginMs: number | null;
  /** Milliseconds after the fleet was created. */
  elapsedMs: number;
  /** Until the schedule ends; null without a schedule. */
  remainingMs: number | null;
  paused: boolean;
  seconds: Second[];
  /** The 99th percentile of lateness above which the result is no longer valid, milliseconds. */
  latenessLimitMs: number;
  soFar: SoFar;
  bands: Band[];
  thresholds: Standing[];
  /** What went wrong first: violations of streams, failures, why robots are not online. */
  trouble: string[];
  /** How many answers of the platform were judged, in words; undefined where nobody judges them. */
  judged?: string;
  ending: Ending | null;
  /** Whether the page may end the run. */
  endable?: boolean;
  /** Pages that show what belongs to it. */
  links: { label: string; url: string }[];
}

/** One robot, as the action `robot` answers. */
export interface RobotDetail {
  name: string;
  /** Of a scenario with classes. */
  class?: string;
  socket: string;
  up: boolean;
  /** Of `GET /deployments/current`. */
  deployment: Record<string, unknown> | null;
  /** Newest last. */
  events: { id: number; type: string; at: string; deployment: string }[];
}
