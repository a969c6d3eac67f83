/** Sends requests of about half the checks in an unusual form, e.g. with header names in capitals. */
import { EQUIVALENT_FORMS, type Form } from '../client/equivalent-forms.ts';
import { isFinding } from './attempts.ts';
import { choicesInWords } from './results.ts';
import { seedOf } from './run-check.ts';
import type { CheckResult } from './types.ts';
import { GOES_ON } from './violation.ts';

export const ALSO_WHEN_ASKED = ', also when asked ';

/** Milliseconds, by outcome, above which a check does not run again in the usual form. */
const LONG_MS: Partial<Record<CheckResult['outcome'], number>> = { blocked: 10_000, undecided: 1000 };

/** Yields the form of the check's next run (undefined: the usual form), and receives the result of that run. */
type Trial = Generator<Form | undefined, { result: CheckResult; others?: readonly CheckResult[] }, CheckResult>;

export function* inUsualForm(): Trial {
  return { result: yield undefined };
}

export class FormVariation {
  readonly #seed: number;
  readonly #isReplay: boolean;
  readonly #left = new Set(EQUIVALENT_FORMS);
  #alike = 0;
  /** Unusual forms by check id, where the finding of the check shows in that form only. */
  readonly found = new Map<string, Form>();

  /**
   * `isReplay`: runs a check that passes in its unusual form in the usual form too, because the finding to replay may
   * show only there.
   */
  constructor(seed: number, { isReplay = false } = {}) {
    this.#seed = seed;
    this.#isReplay = isReplay;
  }

  *inForms(id: string): Trial {
    const form = this.#of(id);
    const first = yield form;
    const isLong = first.duration_ms > (LONG_MS[first.outcome] ?? Number.POSITIVE_INFINITY);
    if (form === undefined || isLong) return { result: first };
    if (isRight(first)) return { result: first.outcome === 'pass' && !this.#isReplay ? first : yield undefined };
    // Ranks a warning above a failure; otherwise a SHOULD violated in both forms would hide a MUST violated in the
    // unusual form.
    const isBetter = (other: CheckResult): boolean =>
      isRight(other) || (other.outcome === 'warn' && first.outcome === 'fail');
    const usual = yield undefined;
    if (!isBetter(usual)) {
      if (usual.outcome === 'fail' || usual.outcome === 'blocked') this.#alike += 1;
      if (!counts(first, form) || isFinding(usual)) return { result: usual };
      this.found.set(id, form);
      return { result: first };
    }
    const others = [usual];
    for (const each of [undefined, form, form, undefined]) {
      const attempt = yield each;
      others.push(attempt);
      if (isBetter(attempt) !== (each === undefined)) return { result: first, others };
    }
    this.#left.delete(form);
    if (counts(first, form)) {
      const why = form.promise === undefined ? '' : ` (${form.promise})`;
      const expected = `${first.expected}${ALSO_WHEN_ASKED}${form.name}${why}`;
      this.found.set(id, form);
      return { result: { ...first, expected } };
    }
    const { observations = [], observed = [] } = usual;
    const how = isFinding(first) ? 'does not hold' : first.outcome;
    const choice = { name: `asked ${form.name}`, value: `${how}: ${first.actual ?? first.reason ?? ''}` };
    const told = { observations: [...observations, ...choicesInWords([choice])], observed: [...observed, choice] };
    return { result: { ...usual, ...told } };
  }

  #of(id: string): Form | undefined {
    const drawn = seedOf(this.#seed, `${id} in a form`) >>> 0;
    const form = EQUIVALENT_FORMS[Math.floor(drawn / 2) % EQUIVALENT_FORMS.length];
    // Sends only the usual form after two checks that fail or are blocked in both forms.
    return drawn % 2 === 0 || this.#alike >= 2 || form === undefined || !this.#left.has(form) ? undefined : form;
  }
}

/**
 * True for a finding that decides the check: HTTP promises that its form makes no difference (`promise`), or the target
 * ended. A target may refuse other forms.
 */
const counts = (first: CheckResult, { promise }: Form): boolean =>
  isFinding(first) && (promise !== undefined || first.expected === GOES_ON);

const isRight = ({ outcome }: CheckResult): boolean => outcome === 'pass' || outcome === 'not_applicable';
