/** Whether a certificate can be believed, and what it then says and does not say. */
import type { KeyObject } from 'node:crypto';
import type { Outcome } from '../../runner/types.ts';
import { open, Refused } from './dsse.ts';
import { declaredDigest, type Statement, statement } from './statement.ts';
import type { SuitesDigest } from './suites-digest.ts';

export interface VerifyOptions {
  /** This Muster, so that a certificate of the same version can be held against its suites. */
  own?: { version: string; suites: SuitesDigest; checkIds(api: string, profile: string): readonly string[] };
  /** `sha256:…` or hex of what the reader holds in hands. */
  digest?: string;
}

/** The statement, when everything about it holds. Throws Refused with the first thing that does not. */
export function verifyCertificate(file: string, publicKey: KeyObject, options: VerifyOptions = {}): Statement {
  const payload = open(file, publicKey);
  const content: unknown = JSON.parse(payload.toString('utf8'));
  if (!statement.is(content)) {
    const [problem] = statement.problems(content);
    throw new Refused(`signed, but no certificate: ${problem?.path || '/'} ${problem?.message ?? ''}`);
  }
  consistent(content);
  complete(content);
  subject(content, options.digest);
  if (options.own !== undefined) ownSuites(content, options.own);
  return content;
}

/** The test-result predicate and Muster's own say the same. */
function consistent({ predicate }: Statement): void {
  const { verdicts } = predicate.muster;
  const ids = verdicts.map((verdict) => verdict.id);
  if (new Set(ids).size !== ids.length) throw new Refused('a check is judged twice');
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

function subject({ subject: [what], predicate }: Statement, wanted: string | undefined): void {
  const digest = what?.digest.sha256;
  if (wanted !== undefined && wanted.replace(/^sha256:/, '') !== digest) {
    throw new Refused(`it is about sha256:${digest}, not about ${wanted}`);
  }
  if (what?.annotations?.declared !== true) return;
  const { subject_name: name = '', subject_version: version = '' } = predicate.muster;
  if (declaredDigest(name, version) !== digest) throw new Refused('the declared subject does not fit its digest');
}

function ownSuites({ predicate: { muster } }: Statement, own: NonNullable<VerifyOptions['own']>): void {
  if (muster.version !== own.version || muster.suites.form !== own.suites.form) return;
  if (muster.suites.sha256 !== own.suites.sha256) {
    throw new Refused(
      `it was judged by other suites than those of muster ${own.version}: sha256:${muster.suites.sha256}`,
    );
  }
  const judged = new Set(muster.verdicts.map(({ id }) => id));
  const missing = own.checkIds(muster.api, muster.profile).filter((id) => !judged.has(id));
  if (missing.length > 0) throw new Refused(`incomplete: ${missing.join(', ')} missing`);
}
