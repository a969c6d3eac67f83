/** Subjects of a user's tests: servers, each in a place of its own, that are correct or wrong in one known way. */
import type { MutationSubject, SUBJECT_KINDS } from '../reports/mutation/report.ts';

export interface Server extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
}

/** Defect or variant. */
export interface Subject {
  readonly name: string;
  readonly kind: (typeof SUBJECT_KINDS)[number];
  /** Its difference, in one sentence. */
  readonly summary: string;
  /** Section of the first requirement that it breaks. */
  readonly section: string;
  readonly requirements: MutationSubject['requirements'];
  /** Names of the simulator's decisions that it changes. */
  readonly decisions: readonly string[];
  /** File that declares it, from the root of the repository. */
  readonly file: string;
  /** Command line that starts a server with this deviation. */
  readonly byHand: string;
  /** Rejects when it cannot be started, which is not the tests' doing, or with the signal's reason. */
  start(signal: AbortSignal): Promise<Server>;
}

/** A faithful server cannot be started, for the reason in the message, outside of Muster. */
export class CannotStart extends Error {
  override name = 'CannotStart';
}

/** Faithful server, and all subjects that can be derived from it. */
export interface SubjectSource {
  readonly subjects: readonly Subject[];
  /** Secrets to redact before any server is up. */
  readonly secrets?: readonly string[];
  /** Starts the faithful server; `taken` are its decisions so far. Rejects with CannotStart, or as a subject does. */
  faithful(signal: AbortSignal): Promise<Server & { readonly taken: ReadonlySet<string> }>;
}
