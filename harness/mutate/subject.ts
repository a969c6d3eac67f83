/** What a user's tests are run against: servers, each in a place of its own, right or wrong in one known way. */
import type { MutationSubject, SUBJECT_KINDS } from '../reports/mutation/report.ts';

/** A server that is up, and where it is. */
export interface Server extends AsyncDisposable {
  /** What tells the tests. */
  readonly env: Readonly<Record<string, string>>;
  /** What must not be shown of it. */
  readonly secrets: readonly string[];
}

/** A defect, or a variant. */
export interface Subject {
  readonly name: string;
  readonly kind: (typeof SUBJECT_KINDS)[number];
  /** What differs, in one sentence. */
  readonly summary: string;
  /** Of what it breaks first. */
  readonly section: string;
  readonly requirements: MutationSubject['requirements'];
  /** Ids of those, or of single checks of them. Empty for a variant. */
  readonly breaks: readonly string[];
  /** Names of the decisions of the simulator that it changes. */
  readonly decisions: readonly string[];
  /** Where it is declared, from the root of the repository. */
  readonly file: string;
  /** Command line that starts a server that deviates so. */
  readonly byHand: string;
  /** Rejects when it cannot be started, which is no doing of the tests, or with the reason of the signal. */
  start(signal: AbortSignal): Promise<Server>;
}

/** A faithful server cannot be started, for a reason outside of Muster: the message says which. */
export class CannotStart extends Error {
  override name = 'CannotStart';
}

/** A faithful server, and all that can be planted in it. */
export interface World {
  readonly subjects: readonly Subject[];
  /** What must not be shown before a server is up either. */
  readonly secrets?: readonly string[];
  /** How tests that meet these may be over sooner. */
  advice?(chosen: readonly Subject[]): string | undefined;
  /** The faithful one, with the decisions that it took so far. Rejects with CannotStart, or as a subject does. */
  faithful(signal: AbortSignal): Promise<Server & { readonly taken: ReadonlySet<string> }>;
}
