/** Defines the subjects of a mutation run: servers that are correct or have one defect. */
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
  /** Names of decisions of the simulator that this defect or variant changes. */
  readonly decisions: readonly string[];
  readonly file: string;
  readonly byHand: string;
  /** Starts the server; rejects if the start fails, or with the reason of the signal. */
  start(signal: AbortSignal): Promise<Server>;
}

/** Error outside Muster that prevents the start of a correct server; the message names the cause. */
export class CannotStart extends Error {
  override name = 'CannotStart';
}

export interface SubjectSource {
  readonly subjects: readonly Subject[];
  readonly secrets?: readonly string[];
  /**
   * Starts a correct server; `taken` holds the decisions that requests have used. Rejects with CannotStart or the
   * reason of the signal.
   */
  faithful(signal: AbortSignal): Promise<Server & { readonly taken: ReadonlySet<string> }>;
}
