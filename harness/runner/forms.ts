/**
 * Each check writes its requests in one of the forms that mean the same, drawn by the seed of the run. What it finds in
 * an unusual one is looked at in the usual one before it is told: the specification promises none of the others.
 */
import { FORMS, type Form } from '../client/forms.ts';
import { choicesInWords } from './results.ts';
import { seedOf } from './run-check.ts';
import type { CheckResult } from './types.ts';

/** After so many findings that were the same in the usual form, a run asks in no other. */
const MOST_ALIKE = 2;
/**
 * What has taken longer is not asked again, milliseconds: where nothing was decided in an unusual form, a server may
 * have left it unanswered; where too little was seen, that is seldom a matter of the form.
 */
const LONG_MS: Partial<Record<CheckResult['outcome'], number>> = { blocked: 10_000, undecided: 1000 };

/** Runs the check, with requests of that form. */
type Once = (form?: Form) => Promise<CheckResult>;

interface Told {
  /** In the usual form, or in another one that made no difference. */
  result: CheckResult;
  /** Where it comes now and then, and is no matter of the form: what came the other times. */
  others?: readonly CheckResult[];
}

export class Forms {
  readonly #seed: number;
  /** Forms that have made no difference yet. */
  readonly #left = new Set(FORMS);
  #alike = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  async run(id: string, once: Once): Promise<Told> {
    const form = this.#of(id);
    const first = await once(form);
    const isLong = first.duration_ms > (LONG_MS[first.outcome] ?? Number.POSITIVE_INFINITY);
    if (form === undefined || isRight(first) || isLong) return { result: first };
    const usual = await once();
    if (!isRight(usual)) {
      // What saw too little says nothing about the target.
      if (usual.outcome !== 'undecided') this.#alike += 1;
      // A target that is gone by then decides nothing any more.
      return { result: isFinding(first) && !isFinding(usual) ? first : usual };
    }
    const others = [usual];
    for (const each of [undefined, form, form, undefined]) {
      const again = await once(each);
      others.push(again);
      if (isRight(again) !== (each === undefined)) return { result: first, others };
    }
    this.#left.delete(form);
    return { result: { ...usual, ...told(usual, form, first) } };
  }

  /** Undefined: the usual one, as for every second check. */
  #of(id: string): Form | undefined {
    const drawn = seedOf(this.#seed, `${id} in a form`) >>> 0;
    const form = FORMS[Math.floor(drawn / 2) % FORMS.length];
    return drawn % 2 === 0 || this.#alike >= MOST_ALIKE || form === undefined || !this.#left.has(form)
      ? undefined
      : form;
  }
}

const isFinding = ({ outcome }: CheckResult): boolean => outcome === 'fail' || outcome === 'warn';
const isRight = ({ outcome }: CheckResult): boolean => outcome === 'pass' || outcome === 'not_applicable';

/** That the form made a difference, which is no finding. */
function told({ observations = [], observed = [] }: CheckResult, form: Form, first: CheckResult): Partial<CheckResult> {
  const how = isFinding(first) ? 'does not hold' : first.outcome;
  const choice = { name: `asked ${form.name}`, value: `${how}: ${first.actual ?? first.reason ?? ''}` };
  return {
    observations: [...observations, ...choicesInWords([choice])],
    observed: [...observed, choice],
  };
}
