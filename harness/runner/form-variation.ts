/**
 * Writes the requests of every second check in an equivalent form, drawn by the seed. A finding there is retried in the
 * usual form; if only the unusual form shows it, it counts where a source promises that forms are equivalent.
 */
import { EQUIVALENT_FORMS, type Form } from '../client/equivalent-forms.ts';
import { isFinding } from './attempts.ts';
import { choicesInWords } from './results.ts';
import { seedOf } from './run-check.ts';
import type { CheckResult } from './types.ts';

/** Findings independent of the form, after which a run varies no more requests. */
const MOST_ALIKE = 2;
/**
 * Milliseconds above which a result is not retried. An unusual form may leave a blocked check unanswered; too few
 * sightings rarely depend on it.
 */
const LONG_MS: Partial<Record<CheckResult['outcome'], number>> = { blocked: 10_000, undecided: 1000 };

type RunCheck = (form?: Form) => Promise<CheckResult>;

interface VariedResult {
  result: CheckResult;
  /** Further results of a finding that comes sometimes, whatever the form. */
  others?: readonly CheckResult[];
}

export class FormVariation {
  readonly #seed: number;
  /** Forms that have made no difference yet. */
  readonly #left = new Set(EQUIVALENT_FORMS);
  #alike = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  async run(id: string, once: RunCheck): Promise<VariedResult> {
    const form = this.#of(id);
    const first = await once(form);
    const isLong = first.duration_ms > (LONG_MS[first.outcome] ?? Number.POSITIVE_INFINITY);
    if (form === undefined || isRight(first) || isLong) return { result: first };
    const usual = await once();
    if (!isRight(usual)) {
      // Undecided results say nothing about the target.
      if (usual.outcome !== 'undecided') this.#alike += 1;
      // A target that ended meanwhile decides nothing.
      return { result: isFinding(first) && !isFinding(usual) ? first : usual };
    }
    const others = [usual];
    for (const each of [undefined, form, form, undefined]) {
      const attempt = await once(each);
      others.push(attempt);
      if (isRight(attempt) !== (each === undefined)) return { result: first, others };
    }
    this.#left.delete(form);
    if (form.promise !== undefined && isFinding(first)) return { result: inThatForm(first, form) };
    return { result: { ...usual, ...formObservation(usual, form, first) } };
  }

  /** Form for a check; undefined means the usual form, as for every second check. */
  #of(id: string): Form | undefined {
    const drawn = seedOf(this.#seed, `${id} in a form`) >>> 0;
    const form = EQUIVALENT_FORMS[Math.floor(drawn / 2) % EQUIVALENT_FORMS.length];
    return drawn % 2 === 0 || this.#alike >= MOST_ALIKE || form === undefined || !this.#left.has(form)
      ? undefined
      : form;
  }
}

const isRight = ({ outcome }: CheckResult): boolean => outcome === 'pass' || outcome === 'not_applicable';

const inThatForm = (found: CheckResult, { name, promise }: Form): CheckResult => ({
  ...found,
  expected: `${found.expected}, also when asked ${name} (${promise})`,
});

/** Observation, no finding: no promise covers the form. */
function formObservation(
  { observations = [], observed = [] }: CheckResult,
  form: Form,
  first: CheckResult,
): Partial<CheckResult> {
  const how = isFinding(first) ? 'does not hold' : first.outcome;
  const choice = { name: `asked ${form.name}`, value: `${how}: ${first.actual ?? first.reason ?? ''}` };
  return {
    observations: [...observations, ...choicesInWords([choice])],
    observed: [...observed, choice],
  };
}
