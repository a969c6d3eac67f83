/** Sections 4.2 and 8: status, limit and offset of lists in watched traffic. */
import { LIST_LIMITS } from '../../../harness/contract/limits.ts';
import type { Judge, Rule } from '../../../harness/runner/rules.ts';
import type { Requirement } from '../../../harness/runner/types.ts';
import { PerClient, watchedRule } from '../../watched.ts';
import { envelope } from '../2.6-list-envelope.ts';
import { defaults, inRange, limitAbove, limitBelow, nearest, negativeOffset } from '../8-lists.ts';
import { pageIn } from '../support/answers.ts';
import { describeResponse } from '../support/requests.ts';
import { judgeByModel } from './judged.ts';
import { listAnswerIn } from './support.ts';

/** Successful statuses other than 200, without 203 (set by a proxy) and 206 (part of an answer). */
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

/** Reads a parameter that is given once, as a number of at most nine digits. */
function numberIn(query: URLSearchParams, name: Name): number | undefined {
  const [value, ...others] = query.getAll(name);
  return others.length === 0 && value !== undefined && /^(?:0|-?[1-9]\d{0,8})$/.test(value) ? Number(value) : undefined;
}

const isOutOfRange = {
  limit: (value: number): boolean => value < LIST_LIMITS.limitMinimum || value > LIST_LIMITS.limitMaximum,
  offset: (value: number): boolean => value < LIST_LIMITS.offsetMinimum,
} as const;

/** Number of wrong pages in a row that make a finding; a changed list or a proxy explains a single page. */
const FINDINGS_IN_A_ROW = 2;

const offsetRule = (): Rule => {
  let times = 0;
  return (seen, judge: Judge) => {
    const list = listAnswerIn(seen);
    const page = pageIn(seen);
    const offset = list && numberIn(list.query, 'offset');
    if (page === undefined || offset === undefined || offset <= LIST_LIMITS.offsetMinimum) return;
    judge.saw(() => JSON.stringify(page));
    // A platform may clamp an offset beyond the end; then no items follow the page.
    const isIgnored = page.offset < offset && page.has_more && page.data.length > 0;
    times = isIgnored ? times + 1 : 0;
    judge.must(times < FINDINGS_IN_A_ROW, {
      expected: `offset ${offset}, or has_more false where the list ends before that`,
      actual: `offset ${page.offset} and has_more true, ${times} pages in a row`,
      counterexample: seen.asked.url,
    });
  };
};

/** Parameters of section 8; any other parameter may change the size of a page. */
const KNOWN = new Set(['limit', 'offset', 'expand']);

/** Skips requests with unknown parameters, which may change the size of a page. */
const defaultsRule = (): Rule => (seen, judge: Judge) => {
  const { query } = listAnswerIn(seen) ?? {};
  if (query !== undefined && [...query.keys()].every((name) => KNOWN.has(name))) judgeByModel(judge, seen, defaults.id);
};

interface Clamp {
  name: Name;
  isMeant(value: number): boolean;
  becomes: string;
}

/** Statuses that blame the request, and not the key, the list or the platform. */
const CALLED_WRONG: ReadonlySet<number> = new Set([400, 422]);

interface ListState {
  served: boolean;
  taken: boolean;
  refused: number;
}

function isInRange(query: URLSearchParams, name: Name): boolean {
  const value = numberIn(query, name);
  return value === undefined ? !query.has(name) : !isOutOfRange[name](value);
}

/** Counts a refusal that directly follows a success in range, so that only the number explains the refusal. */
function refuse(state: ListState, status: number): void {
  if (!CALLED_WRONG.has(status)) state.refused = 0;
  else if (state.served && !state.taken) state.refused += 1;
  state.served = false;
}

function clamp(requirement: Requirement, { name, isMeant, becomes }: Clamp) {
  const other = name === 'limit' ? 'offset' : 'limit';
  return watchedRule(requirement, [requirement.id], (): Rule => {
    const lists = new PerClient<ListState>(() => ({ served: false, taken: false, refused: 0 }));
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
      if (pageIn(seen) !== undefined) {
        state.taken = true;
        return judgeByModel(judge, seen, requirement.id);
      }
      if (isOtherInRange) refuse(state, answer.status);
      if (state.refused < FINDINGS_IN_A_ROW) return;
      judge.saw(() => describeResponse(answer));
      judge.must(false, {
        expected: `a list, with ${name}=${value} as ${becomes}: out of range it is clamped, and no error`,
        actual: describeResponse(answer),
        counterexample: seen.asked.url,
      });
    };
  });
}

const isBelow = (value: number): boolean => value < LIST_LIMITS.limitMinimum;

export const rules = [
  watchedRule(envelope, [envelope.id], statusRule),
  watchedRule(inRange, [inRange.id], offsetRule),
  watchedRule(defaults, [defaults.id], defaultsRule),
  clamp(limitAbove, {
    ...{ name: 'limit', becomes: `limit ${LIST_LIMITS.limitMaximum}` },
    isMeant: (value) => value > LIST_LIMITS.limitMaximum,
  }),
  clamp(limitBelow, { name: 'limit', isMeant: isBelow, becomes: 'a limit from 0 to 100' }),
  // Accepts limit 0 too, which may mean no limit.
  clamp(nearest, { name: 'limit', isMeant: (value) => value < 0, becomes: 'limit 1, or 0' }),
  clamp(negativeOffset, { name: 'offset', isMeant: isOutOfRange.offset, becomes: 'offset 0' }),
];
