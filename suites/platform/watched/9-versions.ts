/** Section 9: answers to clients of each version in watched traffic. */
import {
  atLeast,
  END_OF_LIFE_VERSIONS,
  isPlatformVersion,
  NEWEST_VERSION,
  PLATFORM_VERSIONS,
} from '../../../harness/contract/versions.ts';
import type { Judge, Rule } from '../../../harness/runner/rules.ts';
import { VERSION_FORMAT, watchedRule } from '../../watched.ts';
import { removing } from '../2.1-deployments.ts';
import { archived } from '../9-devices.ts';
import { endOfLife, malformed, STATUSES_OF_OTHER_CAUSES, unknown } from '../9-versions.ts';
import { describeResponse, ok, refused } from '../support/requests.ts';
import { judgeByModel } from './judged.ts';
import { answerShown, versions } from './support.ts';

/** True for a header with one version; section 9 states no answer for a missing header or for several versions. */
const isOne = (version: string | undefined): version is string =>
  version !== undefined && version !== '' && !version.includes(',');

const refusalRule = (isMeant: (version: string) => boolean, why: string) => (): Rule => {
  const versionIn = versions();
  return (seen, judge: Judge) => {
    const version = versionIn(seen);
    const { answer } = answerShown(seen) ?? {};
    if (answer === undefined || !isOne(version) || !isMeant(version)) return;
    if ((!ok(answer) && !refused(answer)) || STATUSES_OF_OTHER_CAUSES.has(answer.status)) return;
    judge.saw(() => describeResponse(answer));
    judge.must(refused(answer), {
      expected: `a 4xx to version ${version}, ${why}`,
      actual: describeResponse(answer),
      counterexample: `${seen.asked.method} ${seen.asked.url}`,
    });
  };
};

const isEnded = (version: string): boolean => END_OF_LIFE_VERSIONS.some((each) => each === version);
const isMalformed = (version: string): boolean => !VERSION_FORMAT.test(version);
/** True for a version that was never released; excludes later dates, because a platform may be newer than Muster. */
const isUnknown = (version: string): boolean =>
  VERSION_FORMAT.test(version) &&
  version.slice(0, 10) <= NEWEST_VERSION.slice(0, 10) &&
  !PLATFORM_VERSIONS.some((each) => each === version.toLowerCase());

/** Judges answers to versions older than `since`, which must not show the status that `since` added. */
const statusRule = (id: string, since: 'rainier' | 'everglades') => (): Rule => {
  const versionIn = versions();
  return (seen, judge: Judge) => {
    const version = versionIn(seen);
    if (version === undefined || !isPlatformVersion(version) || isEnded(version) || atLeast(version, since)) return;
    judgeByModel(judge, seen, id, version);
  };
};

export const rules = [
  watchedRule(endOfLife, [endOfLife.id], refusalRule(isEnded, 'which is no longer supported')),
  watchedRule(malformed, [malformed.id], refusalRule(isMalformed, 'which is malformed')),
  watchedRule(unknown, [unknown.id], refusalRule(isUnknown, 'which was never released')),
  watchedRule(removing, [removing.id], statusRule(removing.id, 'rainier')),
  watchedRule(archived, [archived.id], statusRule(archived.id, 'everglades')),
];
