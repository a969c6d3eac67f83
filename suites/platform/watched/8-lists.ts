/** Sections 4.2 and 8: the status of a list, and what becomes of limit and offset, as clients in the field get it. */
import { LIST_LIMITS } from '../../../harness/contract/limits.ts';
import type { Judge, Rule } from '../../../harness/runner/rules.ts';
import type { Requirement } from '../../../harness/runner/types.ts';
import { PerClient, watchedRule } from '../../watched.ts';
import { envelope } from '../2.6-list-envelope.ts';
import { defaults, inRange, limitAbove, limitBelow, nearest, negativeOffset } from '../8-lists.ts';
import { describeResponse } from '../support/requests.ts';
import { pageIn } from '../support/seen.ts';
import { listAnswerIn } from './support.ts';

/** 203 and 206 are answers that something between has changed, or that were asked for in parts. */
const OTHER_SUCCESSES: ReadonlySet<number> = new Set([201, 202, 204, 205]);

const statusRule = (): Rule => (seen, judge: Judge) => {
  const { answer } = listAnswerIn(seen) ?? {};
  if (answer === undefined) return;
  const isOther = OTHER_SUCCESSES.has(answer.status);
  if (!isOther && pageIn(seen) === undefined) return;
  judge.saw(() => describeResponse(answer));
  judge.must(!isOther, {
    expected: '200 with the list envelope, which section 4.2 gives for a list',
    actual: describeResponse(answer),
    counterexample: seen.asked.url,
  });
};

type Name = 'limit' | 'offset';

/** A number that is given once, in its usual form, and fits into 32 bits: others have requirements of their own. */
function numberIn(query: URLSearchParams, name: Name): number | undefined {
  const [value, ...others] = query.getAll(name);
  return others.length === 0 && value !== undefined && /^(?:0|-?[1-9]\d{0,8})$/.test(value) ? Number(value) : undefined;
}

/** Whether the number is one that the platform must clamp. */
const isOutOfRange = {
  limit: (value: number): boolean => value < LIST_LIMITS.limitMinimum || value > LIST_LIMITS.limitMaximum,
  offset: (value: number): boolean => value < LIST_LIMITS.offsetMinimum,
} as const;

/** Once may be a chance: a list that changed meanwhile, something between that refuses. */
const TELLING = 2;

const offsetRule = (): Rule => {
  let times = 0;
  return (seen, judge: Judge) => {
    const list = listAnswerIn(seen);
    const { page } = pageIn(seen) ?? {};
    const offset = list && numberIn(list.query, 'offset');
    if (page === undefined || offset === undefined || offset <= LIST_LIMITS.offsetMinimum) return;
    judge.saw(() => JSON.stringify(page));
    // One beyond the end may be clamped, and then nothing follows.
    const isIgnored = page.offset < offset && page.has_more && page.data.length > 0;
    times = isIgnored ? times + 1 : 0;
    judge.must(times < TELLING, {
      expected: `offset ${offset}, or has_more false where the list ends before that`,
      actual: `offset ${page.offset} and has_more true, ${times} pages in a row`,
      counterexample: seen.asked.url,
    });
  };
};

/** Whatever else a platform takes may say how much it gives. */
const KNOWN = new Set(['limit', 'offset', 'expand']);

const defaultsRule = (): Rule => (seen, judge: Judge) => {
  const list = listAnswerIn(seen);
  const { page } = pageIn(seen) ?? {};
  if (list === undefined || page === undefined || [...list.query.keys()].some((name) => !KNOWN.has(name))) return;
  const [hasLimit, hasOffset] = [list.query.has('limit'), list.query.has('offset')];
  if (hasLimit && hasOffset) return;
  judge.saw(() => JSON.stringify(page));
  judge.must(hasLimit || page.limit === LIST_LIMITS.limitDefault, {
    expected: `limit ${LIST_LIMITS.limitDefault} in a list without limit`,
    actual: `limit ${page.limit}`,
    counterexample: seen.asked.url,
  });
  judge.must(hasOffset || page.offset === LIST_LIMITS.offsetDefault, {
    expected: `offset ${LIST_LIMITS.offsetDefault} in a list without offset`,
    actual: `offset ${page.offset}`,
    counterexample: seen.asked.url,
  });
};

interface Clamp {
  name: Name;
  /** The numbers that the rule is about, and what may become of them. */
  isMeant(value: number): boolean;
  fits(effective: number): boolean;
  /** In words. */
  becomes: string;
}

/** Answers that call a request wrong. Others have other reasons: the key, the list, the platform itself. */
const CALLED_WRONG: ReadonlySet<number> = new Set([400, 422]);

/** One client's list: `served` since the last refusal, `taken` with a number out of range. */
interface ListState {
  served: boolean;
  taken: boolean;
  refused: number;
}

function isInRange(query: URLSearchParams, name: Name): boolean {
  const value = numberIn(query, name);
  return value === undefined ? !query.has(name) : !isOutOfRange[name](value);
}

/** A list that is served with numbers in range before each refusal is refused for the number alone. */
function refuse(state: ListState, status: number): void {
  if (!CALLED_WRONG.has(status)) state.refused = 0;
  else if (state.served && !state.taken) state.refused += 1;
  state.served = false;
}

/** A refusal counts where the same client gets the same list in the same version with numbers in range. */
const clampRule =
  ({ name, isMeant, fits, becomes }: Clamp) =>
  (): Rule => {
    const lists = new PerClient<ListState>(() => ({ served: false, taken: false, refused: 0 }));
    const other = name === 'limit' ? 'offset' : 'limit';
    return (seen, judge: Judge) => {
      const list = listAnswerIn(seen);
      if (list === undefined) return;
      const { answer, query } = list;
      const value = numberIn(query, name);
      const isOtherInRange = isInRange(query, other);
      const state = lists.of(list.key);
      if (value === undefined || !isMeant(value)) {
        if (!isOtherInRange || !isInRange(query, name)) return;
        state.served = answer.status === 200;
        if (!state.served) state.refused = 0;
        return;
      }
      const { page } = pageIn(seen) ?? {};
      if (page !== undefined) state.taken = true;
      else if (isOtherInRange) refuse(state, answer.status);
      if (page === undefined && state.refused < TELLING) return;
      judge.saw(() => describeResponse(answer));
      judge.must(state.refused < TELLING, {
        expected: `a list, with ${name}=${value} as ${becomes}: out of range it is clamped, and no error`,
        actual: describeResponse(answer),
        counterexample: seen.asked.url,
      });
      judge.must(page === undefined || fits(page[name]), {
        expected: `${becomes}, with ${name}=${value}`,
        actual: `${name} ${page?.[name]}`,
        counterexample: seen.asked.url,
      });
    };
  };

const { limitMinimum, limitMaximum, offsetDefault } = LIST_LIMITS;

const clamp = (requirement: Requirement, given: Clamp) => watchedRule(requirement, [requirement.id], clampRule(given));

export const rules = [
  watchedRule(envelope, [envelope.id], statusRule),
  watchedRule(inRange, [inRange.id], offsetRule),
  watchedRule(defaults, [defaults.id], defaultsRule),
  clamp(limitAbove, {
    name: 'limit',
    isMeant: (value) => value > limitMaximum,
    fits: (limit) => limit === limitMaximum,
    becomes: `limit ${limitMaximum}`,
  }),
  clamp(limitBelow, {
    name: 'limit',
    isMeant: (value) => value < limitMinimum,
    fits: (limit) => limit >= 0 && limit <= limitMaximum,
    becomes: `a limit from 0 to ${limitMaximum}`,
  }),
  clamp(nearest, {
    name: 'limit',
    // 0 may stand for none.
    isMeant: (value) => value < 0,
    fits: (limit) => limit <= limitMinimum,
    becomes: `limit ${limitMinimum}, or 0`,
  }),
  clamp(negativeOffset, {
    name: 'offset',
    isMeant: isOutOfRange.offset,
    fits: (offset) => offset === offsetDefault,
    becomes: `offset ${offsetDefault}`,
  }),
];
