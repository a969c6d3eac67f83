/** In-toto Statement v1 with the test-result predicate, and Muster's own fields below `muster`. */

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Static } from 'typebox';
import { defined } from '../../common/defined.ts';
import { DAY_FORM, exact, oneOf, shape, Type, UtcTimestamp } from '../../contract/shape.ts';
import { differences } from '../../runner/declarations.ts';
import { decidedNumber } from '../../runner/results.ts';
import {
  APIS,
  CAPABILITIES,
  type CheckResult,
  LEVELS,
  OUTCOMES,
  type Outcome,
  type Report,
  type TargetDescription,
} from '../../runner/types.ts';
import { differencesIn } from '../findings.ts';
import { Refused } from './envelope.ts';

const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';
const TEST_RESULT = 'https://in-toto.io/attestation/test-result/v0.1';

export const DAY = new RegExp(DAY_FORM);

const text = Type.String();
const sha256 = exact({ sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }) });
const names = Type.Array(text, { uniqueItems: true });

const verdict = exact({
  id: text,
  level: oneOf(LEVELS),
  section: text,
  outcome: oneOf(OUTCOMES),
  reason: Type.Optional(text),
  in_profile: Type.Optional(Type.Literal(true)),
  fails_by: Type.Optional(text),
  saw: Type.Optional(Type.Record(text, Type.Integer())),
});

export const statement = shape(
  'certificate',
  exact({
    _type: Type.Literal(STATEMENT_TYPE),
    subject: Type.Array(
      exact({ name: text, digest: sha256, annotations: Type.Optional(exact({ declared: Type.Boolean() })) }),
      { minItems: 1, maxItems: 1 },
    ),
    predicateType: Type.Literal(TEST_RESULT),
    predicate: exact({
      result: oneOf(['PASSED', 'WARNED', 'FAILED'] as const),
      configuration: Type.Array(exact({ name: text, digest: sha256 }), { minItems: 1 }),
      passedTests: names,
      warnedTests: names,
      failedTests: names,
      muster: exact({
        version: text,
        suites: exact({ sha256: text, files: Type.Integer(), form: oneOf(['source', 'package'] as const) }),
        api: oneOf(APIS),
        api_version: Type.Optional(text),
        dialect: Type.Optional(text),
        profile: text,
        requirements_version: text,
        seed: Type.Integer(),
        runs: Type.Optional(Type.Number()),
        started_at: UtcTimestamp,
        duration_ms: Type.Integer({ minimum: 0 }),
        valid_until: Type.String({ pattern: DAY_FORM }),
        signer: Type.Optional(text),
        transport: text,
        control: text,
        capabilities: Type.Array(oneOf(CAPABILITIES)),
        subject_name: Type.Optional(text),
        subject_version: Type.Optional(text),
        platform: Type.Optional(exact({ name: text, version: Type.Optional(text) })),
        digest_of: oneOf(['image', 'executable', 'artifact', 'name'] as const),
        executable: Type.Optional(text),
        digest_missing: Type.Optional(text),
        artifact: Type.Optional(exact({ name: text, digest: sha256 })),
        verdicts: Type.Array(verdict, { minItems: 1 }),
        observed: Type.Optional(Type.Array(exact({ check: text, name: text, value: text }))),
        declarations: Type.Optional(Type.Array(exact({ name: text, declared: text, observed: text }))),
      }),
    }),
  }),
);
export type Statement = Static<typeof statement.schema>;
export type Predicate = Statement['predicate'];
type Own = Predicate['muster'];

type Tests = Pick<Predicate, 'passedTests' | 'warnedTests' | 'failedTests'>;

export function testsIn(checks: readonly Pick<CheckResult, 'id' | 'outcome' | 'fails_by'>[]): Tests {
  const named = (isMeant: (outcome: Outcome, failsBy?: string) => boolean): string[] =>
    checks.filter(({ outcome, fails_by: by }) => isMeant(outcome, by)).map(({ id }) => id);
  return {
    passedTests: named((outcome) => outcome === 'pass'),
    warnedTests: named((outcome, failsBy) => outcome === 'warn' && failsBy === undefined),
    failedTests: named((outcome, failsBy) => ['fail', 'known', 'flaky'].includes(outcome) || failsBy !== undefined),
  };
}

export const resultOf = ({ warnedTests, failedTests }: Tests): Predicate['result'] =>
  failedTests.length > 0 ? 'FAILED' : warnedTests.length > 0 ? 'WARNED' : 'PASSED';

export const isOpen = ({ outcome }: Pick<CheckResult, 'outcome'>): boolean =>
  outcome === 'not_applicable' || outcome === 'undecided';

/** Reason if fewer than half of the profile's requirements (`due`) have a decisive verdict (`decided`). */
export function whyTooFew(profile: string, due: readonly string[], decided: readonly string[]): string | undefined {
  const all = new Set(due);
  const known = all.intersection(new Set(decided)).size;
  if (2 * known >= all.size) return undefined;
  return `only ${known} of ${all.size} requirements of the profile ${profile} were decided`;
}

function whyNotCertifiable(report: Report): string | undefined {
  const { summary, target, narrowed_by: narrowed } = report;
  if (narrowed.length > 0) return `the run was narrowed by ${narrowed.join(', ')}: run the whole profile`;
  if (decidedNumber(summary) === 0 && summary.blocked === 0) return 'no check decided anything';
  const failed =
    summary.fail === 0 ? '' : `${summary.fail === 1 ? 'a MUST does' : `${summary.fail} MUSTs do`} not hold, and `;
  const open = whyOpen(report);
  if (open !== undefined) return failed + open;
  if (summary.fail === 0 && differencesIn(report).length > 0) return differencesIn(report).join('; ');
  if (!report.complete) return 'the run did not end';
  const isNamed = target.name !== undefined && target.version !== undefined;
  if (target.digest === undefined && target.artifact === undefined && !isNamed) {
    const why = target.digest_missing === undefined ? '' : ` (${target.digest_missing})`;
    return (
      `nothing says what was tested${why}: give --name and --target-version, an \`artifact\` in the target ` +
      'file, or test an image'
    );
  }
  return undefined;
}

function whyOpen({ checks, summary, profile, profile_coverage: { undecided }, unmet }: Report): string | undefined {
  if (summary.blocked === 1) return '1 check was blocked: nothing is known about it';
  if (summary.blocked > 0) return `${summary.blocked} checks were blocked: nothing is known about them`;
  if (summary.fixed > 0) return `${summary.fixed} entries of the baseline are stale: remove them first`;
  if (undecided.length === 0) {
    const idsOf = (some: readonly CheckResult[]): string[] => some.map(({ requirement_id: id }) => id);
    const due = checks.filter(({ in_profile }) => in_profile === true);
    return unmet?.join('; ') || whyTooFew(profile, idsOf(due), idsOf(due.filter((check) => !isOpen(check))));
  }
  return `the profile ${profile} is not decided: ${undecided.map(({ checks, why }) => `${checks} ${why}`).join(', ')}`;
}

/**
 * Words of the signer. `validUntil`: last day of validity (UTC); `signer`: name, and place where the key is published.
 */
export interface SignersWords {
  validUntil?: string | undefined;
  signer?: string | undefined;
}

/** Throws Refused if the run cannot be certified. */
export function statementOf(report: Report, suites: Own['suites'], words: SignersWords = {}): Statement {
  const why = whyNotCertifiable(report);
  if (why !== undefined) throw new Refused(`no certificate: ${why}`);
  const { target, api, requirements_version: date, requirements_digest: digest } = report;
  const { runs } = report.options ?? {};
  const tests = testsIn(report.checks);
  const lastDay = new Date(report.started_at);
  lastDay.setUTCFullYear(lastDay.getUTCFullYear() + 1);
  const observed = report.checks.flatMap(({ id, observed: choices = [] }) =>
    choices.map((choice) => ({ check: id, ...choice })),
  );
  const untrue = differences(report.declarations).map(({ holds: _, ...declaration }) => declaration);
  return {
    _type: STATEMENT_TYPE,
    subject: [subjectOf(target)],
    predicateType: TEST_RESULT,
    predicate: {
      result: resultOf(tests),
      configuration: [
        { name: `muster ${report.muster} suites (${suites.form})`, digest: { sha256: suites.sha256 } },
        ...(digest === undefined ? [] : [{ name: requirementsName(api, date), digest: { sha256: hexOf(digest) } }]),
      ],
      ...tests,
      muster: {
        version: report.muster,
        suites,
        api,
        ...defined({ api_version: target.api_version, dialect: target.dialect }),
        profile: report.profile,
        requirements_version: date,
        seed: report.seed,
        ...(typeof runs === 'number' && { runs }),
        started_at: report.started_at,
        duration_ms: report.duration_ms,
        valid_until: words.validUntil ?? lastDay.toISOString().slice(0, 10),
        ...defined({ signer: words.signer }),
        transport: target.kind,
        // Leaves out folders of sockets, which may be temporary or private.
        control: target.control.replace(/\bhttp (?!https?:).*\//i, 'http '),
        capabilities: target.capabilities,
        ...defined({ subject_name: target.name, subject_version: target.version, platform: target.platform }),
        ...subjectDetails(target),
        verdicts: report.checks.map(judged),
        ...(observed.length > 0 && { observed }),
        ...(untrue.length > 0 && { declarations: untrue }),
      },
    },
  };
}

export const requirementsName = (api: string, date: string): string => `muster requirements of ${date} (${api})`;

function hexOf(digest: string): string {
  const hex = /^sha256:([0-9a-f]{64})$/.exec(digest)?.[1];
  if (hex === undefined) throw new Refused(`no certificate: ${digest} is not a sha256 digest`);
  return hex;
}

function subjectOf(target: TargetDescription): Statement['subject'][number] {
  const label = [target.name ?? target.executable ?? target.artifact?.name ?? target.kind, target.version];
  const name = label.filter((part) => part !== undefined).join(' ');
  const { digest, artifact } = target;
  if (digest !== undefined) return { name, digest: { sha256: hexOf(digest) } };
  const sha256 = artifact ? hexOf(artifact.digest) : declaredDigest(target.name ?? '', target.version ?? '');
  return { name, digest: { sha256 }, annotations: { declared: true } };
}

function subjectDetails(target: TargetDescription): Pick<Own, 'digest_of'> & Partial<Own> {
  const { digest, digest_of: measured, executable, digest_missing: missing, artifact } = target;
  return {
    digest_of: (digest === undefined ? undefined : measured) ?? (artifact === undefined ? 'name' : 'artifact'),
    ...defined({ executable, digest_missing: missing }),
    ...(artifact && { artifact: { name: artifact.name, digest: { sha256: hexOf(artifact.digest) } } }),
  };
}

/** SHA-256 of `{"name":…,"version":…}`, for a subject without a measured file. */
export const declaredDigest = (name: string, version: string): string => digestOf(JSON.stringify({ name, version }));

/** Omits exchanges and scripts, because readers of a certificate have no target to repeat them on. */
function judged({ id, level, section, outcome, reason, in_profile, fails_by, saw }: CheckResult): JudgedCheck {
  return { id, level, section, outcome, ...defined({ reason, in_profile, fails_by, saw: saw && { ...saw } }) };
}

export type JudgedCheck = Own['verdicts'][number];

const FOLDERS = ['suites', 'harness/runner', 'harness/client', 'harness/contract'];

/** The checkout, or `dist/` in a package. */
const ROOT = join(import.meta.dirname, '../../..');

/**
 * Digest of the modules in FOLDERS without tests; equals `find … | sort | xargs sha256sum | sha256sum`. `form`:
 * TypeScript files of a checkout, or compiled files of a package, whose digest differs.
 */
export function suitesDigest(root: string = ROOT): Own['suites'] {
  const form = import.meta.filename.endsWith('.ts') ? 'source' : 'package';
  const files = FOLDERS.filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((file) => `${folder}/${file}`))
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith(form === 'source' ? '.ts' : '.js') && !/\.test\.|\.d\.ts$|\/testing\//.test(file))
    .sort();
  const lines = files.map((file) => `${digestOf(readFileSync(join(root, file)))}  ${file}\n`);
  return { sha256: digestOf(lines.join('')), files: files.length, form };
}

const digestOf = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');
