export interface Second {
  /** Milliseconds since the fleet was created. */
  at: number;
  /** Counters a second. */
  rates: Record<string, number>;
  p50: Record<string, number>;
  p99: Record<string, number>;
  /** Roll-outs since the start: sent, read by a client on the robot, and missed. */
  attempts: number;
  reached: number;
  missed: number;
  /** Longest stall of a worker, milliseconds. */
  stallMs: number;
}

export interface Band {
  label: string;
  short?: string;
  /** Milliseconds since the fleet was created. */
  from: number;
  /** Undefined while under way. */
  to?: number;
  byHand?: boolean;
}

export interface Standing {
  expr: string;
  /** Undefined before a measurement. */
  value?: number;
  ok: boolean;
}

/** Verdict on the load generator of a run that ended now. */
export interface SoFar {
  verdict: string;
  /** Best verdict still possible. */
  atBest: string;
  reasons: string[];
}

export interface Ending {
  outcome: string;
  verdict: string;
  reasons: string[];
  out?: string;
}

export interface FleetDocument {
  title: string;
  /** Prefix of robot names, `<prefix>-000042`. */
  prefix: string;
  /** A letter for each robot, from `letterOf` of the fleet's host. */
  states: string;
  phase: string;
  /** Start of the first phase, milliseconds since the fleet was created; null before. */
  beginMs: number | null;
  /** Milliseconds since the fleet was created. */
  elapsedMs: number;
  /** Milliseconds to the end of the schedule; null without a schedule. */
  remainingMs: number | null;
  paused: boolean;
  seconds: Second[];
  /** 99th percentile of lateness above which the result becomes suspect, milliseconds. */
  latenessLimitMs: number;
  soFar: SoFar;
  bands: Band[];
  thresholds: Standing[];
  /** First failures: stream violations, errors, and reasons of robots that are not online. */
  trouble: string[];
  /** Number of judged answers, as text; undefined without a judge. */
  judged?: string;
  ending: Ending | null;
  endable?: boolean;
  links: { label: string; url: string }[];
}

export interface RobotDetail {
  name: string;
  class?: string;
  socket: string;
  up: boolean;
  /** Answer of `GET /deployments/current`. */
  deployment: Record<string, unknown> | null;
  /** Newest last. */
  events: { id: number; type: string; at: string; deployment: string }[];
}
