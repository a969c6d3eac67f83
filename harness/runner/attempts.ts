import { defined } from '../common/defined.ts';
import { madeOnce } from '../common/lenient.ts';
import type { CheckResult, Outcome, Rate } from './types.ts';

interface Attempt {
  result: CheckResult;
  isAlone: boolean;
}

export class Attempts {
  readonly #ended = new Map<string, Attempt[]>();
  readonly #underWay = new Set<Pick<Attempt, 'isAlone'>>();

  begin(): Pick<Attempt, 'isAlone'> & Disposable {
    const own = { isAlone: this.#underWay.size === 0, [Symbol.dispose]: () => void this.#underWay.delete(own) };
    for (const other of this.#underWay) other.isAlone = false;
    this.#underWay.add(own);
    return own;
  }

  add(result: CheckResult, isAlone = false): void {
    madeOnce(this.#ended, result.id, () => []).push({ result, isAlone });
  }

  /**
   * Worst result of a check's attempts, because a later pass does not undo a failure; an excused one ranks as `known`.
   */
  worst(id: string, excuses: (result: CheckResult) => boolean): CheckResult | undefined {
    const weight = (result: CheckResult): number =>
      WEIGHTS[result.outcome === 'fail' && excuses(result) ? 'known' : result.outcome];
    const results = this.#ended.get(id)?.map(({ result }) => result) ?? [];
    return results.toSorted((a, b) => weight(b) - weight(a))[0];
  }

  rate({ id, outcome }: CheckResult, notTried?: string): Rate {
    const decided = this.#ended.get(id)?.filter(({ result }) => isDecided(result)) ?? [];
    const isAsBad = ({ result }: Attempt): boolean =>
      result.outcome === 'fail' || (outcome === 'warn' && result.outcome === 'warn');
    const count = (attempts: readonly Attempt[]) => ({
      times: attempts.length,
      failed: attempts.filter(isAsBad).length,
    });
    return {
      ...count(decided),
      alone: count(decided.filter(({ isAlone }) => isAlone)),
      ...defined({ not_tried: notTried }),
    };
  }
}

export const isFinding = ({ outcome }: CheckResult): boolean => outcome === 'fail' || outcome === 'warn';

export const isDecided = ({ outcome }: CheckResult): boolean => ['pass', 'fail', 'warn'].includes(outcome);

const WEIGHTS: Readonly<Record<Outcome, number>> = {
  fail: 5,
  blocked: 4,
  known: 3,
  warn: 2,
  pass: 1,
  undecided: 0,
  not_applicable: -1,
  flaky: -2,
  fixed: -2,
};

export function rateInWords({ times, failed, alone, not_tried }: Rate): string {
  if (times === 1 && not_tried !== undefined) return `not tried again: ${not_tried}`;
  const beside = { times: times - alone.times, failed: failed - alone.failed };
  const counted = ({ times: all, failed: some }: Rate['alone']): string => `${some} of ${all}`;
  const isBoth = alone.times > 0 && beside.times > 0;
  const why = not_tried === undefined ? '' : `; not tried alone: ${not_tried}`;
  // Blames other requests only if at least half of the attempts beside them failed, because the few attempts alone may
  // miss a rarer failure.
  if (isBoth && alone.failed === 0 && beside.failed > 0 && 2 * beside.failed >= beside.times) {
    const or = beside.times === 1 ? ' or in an earlier state' : '';
    return `only beside other requests${or}: ${counted(beside)} times, and ${counted(alone)} alone${why}`;
  }
  return `${failed} of ${times} times${isBoth && failed < times ? ` (alone ${counted(alone)})` : ''}${why}`;
}
