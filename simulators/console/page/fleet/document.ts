export interface Second {
  /** Milliseconds since the fleet was created. */
  at: number;
  /** Increase of each counter per second. */
  rates: Record<string, number>;
  p50: Record<string, number>;
  p99: Record<string, number>;
  /** Roll-outs since the start: sent (`attempts`), read by a client on the robot (`reached`), and `missed`. */
  attempts: number;
  reached: number;
  missed: number;
  stallMs: number;
}

export interface Band {
  label: string;
  short?: string;
  /** Milliseconds since the fleet was created. */
  from: number;
  to?: number;
  byHand?: boolean;
}

export interface Standing {
  expr: string;
  value?: number;
  /** `open`: the threshold is not judged, or its value is not measured. */
  tone: 'good' | 'bad' | 'open';
}

export interface Ending {
  outcome: string;
  verdict: string;
  reasons: string[];
  out?: string;
}

export interface FleetDocument {
  title: string;
  prefix: string;
  /** One letter for each robot, e.g. `o` for online. */
  states: string;
  phase: string;
  /** Milliseconds from the fleet's creation to the first phase; null before that phase. */
  beginMs: number | null;
  /** Milliseconds since the fleet was created. */
  elapsedMs: number;
  /** Milliseconds to the end of the schedule; null without a schedule. */
  remainingMs: number | null;
  paused: boolean;
  seconds: Second[];
  /** Maximum p99 lateness of the fleet's requests for a valid result. */
  latenessLimitMs: number;
  soFar: { verdict: string; atBest: string; reasons: string[] };
  bands: Band[];
  thresholds: Standing[];
  trouble: string[];
  /** Share of answers that rules have examined, e.g. `1 of 9 answers`. */
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
  deployment: Record<string, unknown> | null;
  /** In order of their ids, the newest last. */
  events: { id: number; type: string; at: string; deployment: string }[];
}
