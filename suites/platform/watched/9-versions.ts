/** Section 9: what clients of one version get, and what those of none. */
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
import { endOfLife, malformed, OTHERWISE, unknown } from '../9-versions.ts';
import { describeResponse, ok, refused } from '../support/requests.ts';
import { resourcesIn } from '../support/seen.ts';
import { answerShown, versions } from './support.ts';

/** What is missing or there twice is for nobody: section 9 does not say what becomes of it. */
const isOne = (version: string | undefined): version is string =>
  version !== undefined && version !== '' && !version.includes(',');

const refusalRule = (isMeant: (version: string) => boolean, why: string) => (): Rule => {
  const versionIn = versions();
  return (seen, judge: Judge) => {
    const version = versionIn(seen);
    const { answer } = answerShown(seen) ?? {};
    if (answer === undefined || !isOne(version) || !isMeant(version)) return;
    if ((!ok(answer) && !refused(answer)) || OTHERWISE.has(answer.status)) return;
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
/** A platform may be newer than this Muster, and have versions of later dates. */
const isUnknown = (version: string): boolean =>
  VERSION_FORMAT.test(version) &&
  version.slice(0, 10) <= NEWEST_VERSION.slice(0, 10) &&
  !PLATFORM_VERSIONS.some((each) => each === version.toLowerCase());

interface Status {
  object: string;
  members: readonly string[];
  /** Not for clients of versions before `since`. */
  status: string;
  since: 'rainier' | 'everglades';
}

/** A status that older clients do not know. */
const statusRule =
  ({ object, members, status, since }: Status) =>
  (): Rule => {
    const versionIn = versions();
    return (seen, judge: Judge) => {
      const version = versionIn(seen);
      if (version === undefined || !isPlatformVersion(version) || isEnded(version) || atLeast(version, since)) return;
      for (const resource of resourcesIn(seen)) {
        if (resource.object !== object) continue;
        judge.saw(() => JSON.stringify(resource));
        judge.must(
          members.every((name) => resource[name] !== status),
          {
            expected: `no ${object} with status ${status} in ${version}`,
            actual: members.map((name) => `${name} ${resource[name]}`).join(', '),
            counterexample: `${resource.id} in the answer to ${seen.asked.method} ${seen.asked.url}`,
          },
        );
      }
    };
  };

const OF_DEPLOYMENTS: Status = {
  object: 'deployment',
  members: ['status', 'activity_status'],
  status: 'removing',
  since: 'rainier',
};
const OF_DEVICES: Status = { object: 'device', members: ['status'], status: 'archived', since: 'everglades' };

export const rules = [
  watchedRule(endOfLife, [endOfLife.id], refusalRule(isEnded, 'which is no longer supported')),
  watchedRule(malformed, [malformed.id], refusalRule(isMalformed, 'which is malformed')),
  watchedRule(unknown, [unknown.id], refusalRule(isUnknown, 'which was never released')),
  watchedRule(removing, [removing.id], statusRule(OF_DEPLOYMENTS)),
  watchedRule(archived, [archived.id], statusRule(OF_DEVICES)),
];
