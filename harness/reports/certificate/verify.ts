/** Whether a certificate can be believed: its signature, its consistency, its subject, and the suites that it was made with. */
import type { KeyObject } from 'node:crypto';
import { isHeld, requirementSet } from '../../runner/requirements.ts';
import type { Outcome, Suite } from '../../runner/types.ts';
import { open, parseSigned, Refused } from './dsse.ts';
import {
  declaredDigest,
  requirementsName,
  type Statement,
  type SuitesDigest,
  statement,
  suitesDigest,
} from './statement.ts';

/** This Muster, which a certificate can be compared with. */
export interface OwnSuites {
  version: string;
  suites: SuitesDigest;
  /** Ids of all checks of a profile that decide the requirements of a set. */
  checkIds(api: string, profile: string, requirements: string): readonly string[];
  /** `sha256:…` of a requirement set of an API; undefined when there is none of that date here. */
  requirementsDigest(api: string, date: string): string | undefined;
}

/** What a certificate is compared with. */
export interface VerifyOptions {
  own?: OwnSuites;
  /** `sha256:…` or hex of the subject that the reader has. */
  digest?: string;
}

/** What a Muster of that version, with these suites, compares certificates with. */
export function ownSuites(version: string, suites: readonly Suite<never>[]): OwnSuites {
  const of = (api: string): Suite<never>[] => suites.filter((suite) => suite.api === api);
  return {
    version,
    suites: suitesDigest(),
    checkIds: (api, profile, requirements) =>
      of(api)
        .flatMap((suite) => suite.checks)
        .filter((check) => profile === 'full' || check.profile === 'core')
        .filter((check) => isHeld(check.requirement, requirements))
        .map((check) => check.id),
    requirementsDigest(api, date) {
      const [suite] = of(api);
      return suite?.requirementSets.includes(date) ? requirementSet(suite, date).digest : undefined;
    },
  };
}

/**
 * Verifies a certificate.
 *
 * @param file content of the file
 * @returns the statement in it
 * @throws Refused with the first thing that does not hold
 */
export function verifyCertificate(file: string, publicKey: KeyObject, options: VerifyOptions = {}): Statement {
  const payload = open(file, publicKey);
  const content = parseSigned(payload.toString('utf8'));
  if (!statement.is(content)) {
    const [problem] = statement.problems(content);
    throw new Refused(`signed, but not a certificate: ${problem?.path || '/'} ${problem?.message ?? ''}`);
  }
  consistent(content);
  complete(content);
  subject(content, options.digest);
  if (options.own !== undefined) {
    sameRequirements(content, options.own);
    sameSuites(content, options.own);
  }
  return content;
}

/** The test-result predicate and Muster's own say the same. */
function consistent({ predicate }: Statement): void {
  const { verdicts } = predicate.muster;
  const ids = verdicts.map((verdict) => verdict.id);
  if (new Set(ids).size !== ids.length) throw new Refused('it has two verdicts on one check');
  const same = (field: 'passedTests' | 'warnedTests' | 'failedTests', ...outcomes: Outcome[]): void => {
    const expected = verdicts.filter((verdict) => outcomes.includes(verdict.outcome)).map((verdict) => verdict.id);
    if (expected.join() !== predicate[field].join()) throw new Refused(`${field} is not what the verdicts say`);
  };
  same('passedTests', 'pass');
  same('warnedTests', 'warn');
  same('failedTests', 'fail', 'known');
  const result = predicate.failedTests.length > 0 ? 'FAILED' : predicate.warnedTests.length > 0 ? 'WARNED' : 'PASSED';
  if (predicate.result !== result) throw new Refused(`the result is ${predicate.result}, the verdicts say ${result}`);
}

function complete({ predicate }: Statement): void {
  const undecided = predicate.muster.verdicts.filter(({ outcome }) => outcome === 'blocked' || outcome === 'fixed');
  if (undecided.length > 0) throw new Refused(`incomplete: ${undecided.map(({ id }) => id).join(', ')} undecided`);
  const silent = predicate.muster.verdicts.filter(({ outcome, reason }) => outcome === 'not_applicable' && !reason);
  if (silent.length > 0)
    throw new Refused(`incomplete: ${silent.map(({ id }) => id).join(', ')} left out without a reason`);
  if (predicate.muster.verdicts.every(({ outcome }) => outcome === 'not_applicable')) throw new Refused('no check ran');
}

/** The digests are of what the statement says, and the reader's is among them. */
function subject({ subject: [what], predicate: { muster } }: Statement, wanted: string | undefined): void {
  const digest = what?.digest.sha256;
  const named = muster.artifact?.digest.sha256;
  if (wanted !== undefined && ![digest, named].includes(wanted.replace(/^sha256:/, ''))) {
    throw new Refused(`it is about sha256:${digest}, not about ${wanted}`);
  }
  const declared = what?.annotations?.declared === true;
  const isMeasured = muster.digest_of === 'image' || muster.digest_of === 'executable';
  if (muster.digest_of !== undefined && declared === isMeasured)
    throw new Refused('it calls a digest both measured and declared');
  if (muster.digest_of === 'artifact') {
    if (digest !== named) throw new Refused('the subject is not the artifact that it names');
  } else if (declared) {
    const { subject_name: name = '', subject_version: version = '' } = muster;
    if (declaredDigest(name, version) !== digest) throw new Refused('the declared subject does not fit its digest');
  }
}

/** A set never changes once it is released, whatever version of Muster ran it. */
function sameRequirements({ predicate: { configuration, muster } }: Statement, own: OwnSuites): void {
  const { api, requirements_version: date } = muster;
  const named = configuration.find(({ name }) => name === requirementsName(api, date));
  const here = own.requirementsDigest(api, date);
  if (named !== undefined && here !== undefined && here !== `sha256:${named.digest.sha256}`) {
    throw new Refused(`its requirements are not those of ${date}: sha256:${named.digest.sha256}, here ${here}`);
  }
}

function sameSuites({ predicate: { muster } }: Statement, own: OwnSuites): void {
  if (muster.version !== own.version || muster.suites.form !== own.suites.form) return;
  if (muster.suites.sha256 !== own.suites.sha256) {
    throw new Refused(
      `it was made with other suites than those of muster ${own.version}: sha256:${muster.suites.sha256}`,
    );
  }
  const decided = new Set(muster.verdicts.map(({ id }) => id));
  const missing = own
    .checkIds(muster.api, muster.profile, muster.requirements_version)
    .filter((id) => !decided.has(id));
  if (missing.length > 0) throw new Refused(`incomplete: ${missing.join(', ')} missing`);
}
