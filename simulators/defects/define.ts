/** What a defect and a variant are. They name the decisions that they change; all others are those of the reference. */

/** Another choice where the specification is silent. No MUST may fail on it. `B`: the behaviour of the simulator. */
export interface Variant<B> {
  readonly name: string;
  /** Which simulator differs. */
  readonly side: 'device' | 'platform';
  /** What differs, in one sentence. */
  readonly summary: string;
  /** The changed behaviour. Call it for each simulator: what the behaviour remembers belongs to that one. */
  behaviour(reference: B): B;
}

/** A named deviation from the specification, which the suites must catch. */
export interface Defect<B> extends Variant<B> {
  /** Ids of the requirements, or of single checks, that it breaks. */
  readonly breaks: readonly string[];
}

/** Decisions that differ. A function is given those of the reference. */
export type Change<T> = Partial<T> | ((reference: T) => Partial<T>);

/** The reference with `change` made to it. */
export function changed<T extends object>(reference: T, change: Change<T> | undefined): T {
  if (change === undefined) return reference;
  const decisions = typeof change === 'function' ? (change as (reference: T) => Partial<T>)(reference) : change;
  return { ...reference, ...decisions };
}
