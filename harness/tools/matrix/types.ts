/** What the kill matrix is made of: subjects (a deviation, a legal choice, a server that does nothing) and what the suite said of each. */
import type { Api, Level, Report } from '../../runner/types.ts';

export const SUBJECT_KINDS = ['right', 'defect', 'variant', 'null'] as const;
export type SubjectKind = (typeof SUBJECT_KINDS)[number];

/** One implementation to judge. */
export interface Subject {
  api: Api;
  kind: SubjectKind;
  name: string;
  summary: string;
  /** Requirements that a defect breaks; each of them must be seen to be broken. */
  breaks?: readonly string[];
  /** The file that declares it, where that is not the matrix. */
  file?: string;
  /** Starts it, runs the suite against it, stops it. `only`: these requirements; all when left out. */
  judge(only?: readonly string[]): Promise<Report>;
}

/** A check that turned red, in its own words. */
export interface Red {
  id: string;
  level: Level;
  requirement: string;
  expected: string;
  actual: string;
}

export interface Verdict {
  subject: Subject;
  /** Number of checks that passed. */
  passed: number;
  red: readonly Red[];
  durationMs: number;
  /** What is wrong with this row, each with what to do about it; empty when the matrix is as it must be. */
  problems: readonly Problem[];
}

export interface Problem {
  what: string;
  todo: string;
}
