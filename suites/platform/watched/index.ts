/** Rules for watched traffic of a platform: pings (section 2.5), lists (section 8) and versions (section 9). */
import { LIST_LIMITS } from '../../../harness/contract/lists.ts';
import {
  atLeast,
  END_OF_LIFE_VERSIONS,
  isPlatformVersion,
  NEWEST_VERSION,
  PLATFORM_VERSIONS,
} from '../../../harness/contract/versions.ts';
import type { Judge, Rule } from '../../../harness/runner/rules.ts';
import type { Check, Requirement } from '../../../harness/runner/types.ts';
import { isPing, PerClient, VERSION_FORMAT, watchedRule } from '../../watched.ts';
import { success } from '../2.5-ping.ts';
import { removing } from '../2-deployments.ts';
import { endOfLife, malformed, STATUSES_OF_OTHER_CAUSES, unknown } from '../5-keys-and-versions.ts';
import { defaults, envelope, inRange, limitAbove, limitBelow, nearest, negativeOffset } from '../8-lists.ts';
import { archived } from '../9-resources.ts';
import { pageIn } from '../support/lists.ts';
import { pingCode } from '../support/ping.ts';
import { describeResponse, ok, refused } from '../support/requests.ts';
import { answerIn, answerShown, judgeByModel, listAnswerIn, listKeyOf, versions } from './judged.ts';

/** Successes other than 200, without 203 (set by a proxy) and 206 (part of an answer). */
const OTHER_SUCCESSES: ReadonlySet<number> = new Set([201, 202, 204, 205]);

const listStatusRule = (): Rule => (seen, judge: Judge) => {
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

function numberIn(query: URLSearchParams, name: Name): number | undefined {
  const [value, ...others] = query.getAll(name);
  return others.length === 0 && value !== undefined && /^(?:0|-?[1-9]\d{0,8})$/.test(value) ? Number(value) : undefined;
}

const isOutOfRange = {
  limit: (value: number): boolean => value < LIST_LIMITS.limitMinimum || value > LIST_LIMITS.limitMaximum,
  offset: (value: number): boolean => value < LIST_LIMITS.offsetMinimum,
} as const;

/** Number of wrong answers in a row that make a finding; a changed list or a proxy may explain a single one. */
const FINDINGS_IN_A_ROW = 2;

const offsetRule = (): Rule => {
  let times = 0;
  return (seen, judge: Judge) => {
    const list = listAnswerIn(seen);
    const page = pageIn(seen);
    const offset = list && numberIn(list.query, 'offset');
    if (page === undefined || offset === undefined || offset <= LIST_LIMITS.offsetMinimum) return;
    judge.saw(() => JSON.stringify(page));
    // Counts an offset as ignored only if more items follow, because a platform may clamp an offset beyond the end.
    const isIgnored = page.offset < offset && page.has_more && page.data.length > 0;
    times = isIgnored ? times + 1 : 0;
    judge.must(times < FINDINGS_IN_A_ROW, {
      expected: `offset ${offset}, or has_more false where the list ends before that`,
      actual: `offset ${page.offset} and has_more true, ${times} pages in a row`,
      counterexample: seen.asked.url,
    });
  };
};

/** Skips lists with other parameters, which may change the size of a page. */
const defaultsRule = (): Rule => (seen, judge: Judge) => {
  const { query } = listAnswerIn(seen) ?? {};
  if (query !== undefined && [...query.keys()].every((name) => ['limit', 'offset', 'expand'].includes(name)))
    judgeByModel(judge, seen, defaults.id);
};

/** Statuses that blame the request, not the key, the list or the platform. */
const CALLED_WRONG: ReadonlySet<number> = new Set([400, 422]);

function isInRange(query: URLSearchParams, name: Name): boolean {
  const value = numberIn(query, name);
  return value === undefined ? !query.has(name) : !isOutOfRange[name](value);
}

function clamp(requirement: Requirement, name: Name, becomes: string, isMeant: (value: number) => boolean) {
  const other = name === 'limit' ? 'offset' : 'limit';
  return watchedRule(requirement, [requirement.id], `a list with ${name} out of its range`, (): Rule => {
    const lists = new PerClient(() => ({ served: false, taken: false, refused: 0 }));
    return (seen, judge: Judge) => {
      const list = listAnswerIn(seen);
      if (list === undefined) return;
      const { request, answer, query } = list;
      const value = numberIn(query, name);
      const isOtherInRange = isInRange(query, other);
      const state = lists.of(listKeyOf(request));
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
      if (isOtherInRange) {
        // Counts a refusal only directly after a success with numbers in range: then only the odd number explains it.
        if (!CALLED_WRONG.has(answer.status)) state.refused = 0;
        else if (state.served && !state.taken) state.refused += 1;
        state.served = false;
      }
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

const listRules = [
  watchedRule(envelope, [envelope.id], 'a list', listStatusRule),
  watchedRule(inRange, [inRange.id], 'a list with an offset', offsetRule),
  watchedRule(defaults, [defaults.id], 'a list without limit or offset', defaultsRule),
  clamp(limitAbove, 'limit', `limit ${LIST_LIMITS.limitMaximum}`, (value) => value > LIST_LIMITS.limitMaximum),
  clamp(limitBelow, 'limit', 'a limit from 0 to 100', (value) => value < LIST_LIMITS.limitMinimum),
  // Leaves out limit 0, which may mean no limit.
  clamp(nearest, 'limit', 'limit 1, or 0', (value) => value < 0),
  clamp(negativeOffset, 'offset', 'offset 0', isOutOfRange.offset),
];

const refusal = (due: Requirement, isMeant: (version: string) => boolean, why: string) =>
  watchedRule(due, [due.id], `a request in a version that ${why}`, () => {
    const versionIn = versions();
    return (seen, judge: Judge) => {
      const version = versionIn(seen);
      const { answer } = answerShown(seen) ?? {};
      // Skips a missing header and several versions at once, because section 9 states no answer to them.
      if (answer === undefined || !version || version.includes(',') || !isMeant(version)) return;
      if ((!ok(answer) && !refused(answer)) || STATUSES_OF_OTHER_CAUSES.has(answer.status)) return;
      judge.saw(() => describeResponse(answer));
      judge.must(refused(answer), {
        expected: `a 4xx to version ${version}, which ${why}`,
        actual: describeResponse(answer),
        counterexample: `${seen.asked.method} ${seen.asked.url}`,
      });
    };
  });

const isEnded = (version: string): boolean => END_OF_LIFE_VERSIONS.some((each) => each === version);
const isMalformed = (version: string): boolean => !VERSION_FORMAT.test(version);
/** Excludes later dates, because a platform may be newer than Muster. */
const isUnknown = (version: string): boolean =>
  VERSION_FORMAT.test(version) &&
  version.slice(0, 10) <= NEWEST_VERSION.slice(0, 10) &&
  !PLATFORM_VERSIONS.some((each) => each === version.toLowerCase());

const newer = (due: Requirement, since: 'rainier' | 'everglades', what: string) =>
  watchedRule(due, [due.id], `${what}, in an older version`, () => {
    const versionIn = versions();
    return (seen, judge: Judge) => {
      const version = versionIn(seen);
      if (version === undefined || !isPlatformVersion(version) || isEnded(version) || atLeast(version, since)) return;
      judgeByModel(judge, seen, due.id, version);
    };
  });

const versionRules = [
  refusal(endOfLife, isEnded, 'is no longer supported'),
  refusal(malformed, isMalformed, 'is malformed'),
  refusal(unknown, isUnknown, 'was never released'),
  newer(removing, 'rainier', 'a deployment that is removing'),
  newer(archived, 'everglades', 'an archived device'),
];

/** Judges only successes, because section 2.5 documents no refusal. */
const ping = watchedRule(success, [success.id], 'a ping that succeeds', () => (seen, judge) => {
  const found = answerIn(seen);
  if (found && isPing(found.request) && pingCode(found.answer) === 'success') judgeByModel(judge, seen, success.id);
});

export const watchedRules: readonly Check<unknown>[] = [...listRules, ...versionRules, ping];
