/** Subjects of the user's tests: servers that are correct, or wrong in one known way. */
import type { MutationSubject, SUBJECT_KINDS } from '../reports/mutation/report.ts';

export interface Server extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
}

export interface Subject {
  readonly name: string;
  readonly kind: (typeof SUBJECT_KINDS)[number];
  readonly summary: string;
  readonly section: string;
  readonly requirements: MutationSubject['requirements'];
  /** Names of the simulator's decisions that the subject changes. */
  readonly decisions: readonly string[];
  readonly file: string;
  readonly byHand: string;
  /** Rejects if the server cannot be started, or with the signal's reason. */
  start(signal: AbortSignal): Promise<Server>;
}

/** Thrown if something outside Muster prevents the start of a faithful server; the message says what. */
export class CannotStart extends Error {
  override name = 'CannotStart';
}

export interface SubjectSource {
  readonly subjects: readonly Subject[];
  readonly secrets?: readonly string[];
  /** Starts a faithful server; `taken` holds its decisions so far. Rejects with CannotStart or the signal's reason. */
  faithful(signal: AbortSignal): Promise<Server & { readonly taken: ReadonlySet<string> }>;
}
