/** What the kill matrix is made of: its subjects, and the verdict on each. */
import type { Api, Level, Report } from '../../runner/types.ts';

export const SUBJECT_KINDS = ['reference', 'defect', 'variant', 'null'] as const;
export type SubjectKind = (typeof SUBJECT_KINDS)[number];

/** One implementation that a suite is run against. */
export interface Subject {
  api: Api;
  kind: SubjectKind;
  name: string;
  summary: string;
  /** Requirements that a defect breaks; a check of each of them must turn red. */
  breaks?: readonly string[];
  /** The file that declares it, where that is not the matrix. */
  file?: string;
  /** Starts it, runs the suite against it, stops it. `only`: these requirements; all when left out. */
  run(only?: readonly string[]): Promise<Report>;
}

/** What a red check reported. */
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
  /** What is wrong with this row, each with what to do about it; empty when the row is ok. */
  problems: readonly Problem[];
}

export interface Problem {
  what: string;
  todo: string;
}
