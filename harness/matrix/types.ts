/** What the kill matrix is made of: subjects (a deviation, a legal choice, a server that does nothing) and what the suite said of each. */
import type { Api, Level, Outcome, Report } from '../check/types.ts';

export type SubjectKind = 'right' | 'defect' | 'variant' | 'null';

/** One implementation to judge. */
export interface Subject {
  api: Api;
  kind: SubjectKind;
  name: string;
  summary: string;
  /** Requirements that a defect breaks. */
  breaks?: readonly string[];
  /** Starts it, runs the suite against it, stops it. */
  /** `only`: these requirements; all when left out. */
  judge(only?: readonly string[]): Promise<Report>;
}

export interface Verdict {
  subject: Subject;
  /** Check id → level and outcome, for everything that ran. */
  outcomes: Map<string, { level: Level; outcome: Outcome; requirement: string }>;
  /** Ids of checks that turned red (fail or warn; blocked counts only as not passed). */
  red: string[];
  blocked: string[];
  durationMs: number;
  /** What is wrong with this row; empty when the matrix is as it must be. */
  problems: string[];
}
