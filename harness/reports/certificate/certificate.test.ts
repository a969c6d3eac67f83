import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, verify } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dsse } from '@sigstore/core';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { checks, requirement, suite } from '../../runner/define.ts';
import { requirementSet } from '../../runner/requirements.ts';
import type { CheckResult, Report } from '../../runner/types.ts';
import { sampleFailure, sampleReport, sampleResult } from '../samples.ts';
import { badge, claimsOf } from './claims.ts';
import { open, preAuthenticationEncoding, Refused, seal } from './dsse.ts';
import { certificateIssuer } from './issue.ts';
import { generateKey, keyId, readPrivateKey, readPublicKey } from './keys.ts';
import { type Statement, statementOf, suitesDigest } from './statement.ts';
import { ownSuites, verifyCertificate } from './verify.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-certificate-'));
afterAll(() => rmSync(folder, { recursive: true }));
const keyFile = join(folder, 'key.pem');
generateKey(keyFile);
const publicKey = readPublicKey(`${keyFile}.pub`);
const privateKey = readPrivateKey(keyFile);
const suites = { sha256: 'a'.repeat(64), files: 9, form: 'source' } as const;

const good: CheckResult[] = [
  sampleResult({ id: 'device.a' }),
  sampleResult({ id: 'device.b', outcome: 'warn', level: 'SHOULD' }),
  sampleResult({
    id: 'device.c',
    outcome: 'not_applicable',
    reason: 'needs loopback, which the target does not declare',
  }),
];
const complete = (checks = good, change: Partial<Report> = {}) => sampleReport(checks, { complete: true, ...change });
const certificate = (report = complete()): string =>
  seal(Buffer.from(JSON.stringify(statementOf(report, suites))), privateKey);
/** Signs whatever `change` makes of a good statement. */
const forged = (change: (statement: Statement) => void): string => {
  const made = statementOf(complete(), suites);
  change(made);
  return seal(Buffer.from(JSON.stringify(made)), privateKey);
};

test('a certificate is an in-toto statement with the test-result predicate', () => {
  const ajv = addFormats.default(new Ajv2020.default({ strict: false }));
  const schema = readFileSync(join(import.meta.dirname, '../../../fixtures/schemas/statement.schema.json'), 'utf8');
  const validate = ajv.compile(JSON.parse(schema));
  validate(statementOf(complete(), suites));
  expect(validate.errors).toBeNull();
  expect(validate({ ...statementOf(complete(), suites), subject: [{ name: 'x' }] })).toBe(false);
});

test('an independent implementation of the envelope verifies the signature', () => {
  const { payloadType, payload, signatures } = JSON.parse(certificate());
  const signed = dsse.preAuthEncoding(payloadType, Buffer.from(payload, 'base64'));
  expect(verify(null, signed, publicKey, Buffer.from(signatures[0].sig, 'base64'))).toBe(true);
  expect(signed.equals(preAuthenticationEncoding(payloadType, Buffer.from(payload, 'base64')))).toBe(true);
});

test('what was issued is verified, and says what was found', () => {
  const { subject, predicate } = verifyCertificate(certificate(), publicKey);
  expect(subject[0]).toMatchObject({ name: 'example-agent 1.3.0', annotations: { declared: true } });
  expect(predicate).toMatchObject({
    result: 'WARNED',
    passedTests: ['device.a'],
    warnedTests: ['device.b'],
    failedTests: [],
  });
  expect(predicate.muster.verdicts).toHaveLength(3);
});

test('a flipped bit in any byte is refused', () => {
  const bytes = Buffer.from(certificate());
  const refused = (at: number, mask: number): void => {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ mask;
    expect(() => verifyCertificate(changed.toString('latin1'), publicKey), `byte ${at}, mask ${mask}`).toThrow(Refused);
  };
  for (let at = 0; at < bytes.length; at += 1) refused(at, 0x01);
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.nat(7), (at, bit) => refused(at, 1 << bit)),
    { numRuns: 2000 },
  );
});

test('an inserted or removed byte is refused', () => {
  const text = certificate();
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.constantFrom(' ', '\n', 'A', '='), (at, extra) => {
      expect(() => verifyCertificate(text.slice(0, at) + text.slice(at + 1), publicKey)).toThrow(Refused);
      expect(() => verifyCertificate(text.slice(0, at) + extra + text.slice(at), publicKey)).toThrow(Refused);
    }),
    { numRuns: 1000 },
  );
});

test('a signature by another key is refused, and so is one of two', () => {
  const other: KeyObject = generateKeyPairSync('ed25519').privateKey;
  const payload = open(certificate(), publicKey);
  expect(() => verifyCertificate(seal(payload, other), publicKey)).toThrow(/not signed by this key/);
  const both = JSON.parse(certificate());
  both.signatures.push(JSON.parse(seal(payload, other)).signatures[0]);
  expect(() => verifyCertificate(`${JSON.stringify(both, null, 2)}\n`, publicKey)).toThrow(
    /not signed by this key alone/,
  );
});

test.each<[string, (statement: Statement) => void, RegExp]>([
  [
    'a result that the verdicts do not bear out',
    ({ predicate }) => void Object.assign(predicate, { result: 'PASSED' }),
    /the verdicts say WARNED/,
  ],
  [
    'a list without one of the verdicts',
    ({ predicate }) => void predicate.passedTests.pop(),
    /passedTests is not what/,
  ],
  [
    'a check left out without a reason',
    ({ predicate }) => void delete predicate.muster.verdicts[2]?.reason,
    /without a reason/,
  ],
  [
    'an undecided check',
    ({ predicate }) => void Object.assign(predicate.muster.verdicts[2] ?? {}, { outcome: 'blocked' }),
    /undecided/,
  ],
  [
    'two verdicts on one check',
    ({ predicate }) => void predicate.muster.verdicts.push(...predicate.muster.verdicts.slice(2)),
    /two verdicts on one check/,
  ],
  [
    'a declared name that is not the subject',
    ({ predicate }) => void Object.assign(predicate.muster, { subject_version: '2' }),
    /does not fit its digest/,
  ],
  [
    'a statement of another kind',
    (statement) => void Object.assign(statement, { predicateType: 'x' }),
    /not a certificate/,
  ],
])('though signed, %s is refused', (_, change, words) => {
  expect(() => verifyCertificate(forged(change), publicKey)).toThrow(words);
});

test('a certificate of the same version is held against the suites at hand', () => {
  const own = {
    version: '0.1.0',
    suites,
    checkIds: () => ['device.a', 'device.b', 'device.c'],
    requirementsDigest: () => undefined,
  };
  expect(verifyCertificate(certificate(), publicKey, { own }).predicate.result).toBe('WARNED');
  const others = { ...own, suites: { ...suites, sha256: 'b'.repeat(64) } };
  expect(() => verifyCertificate(certificate(), publicKey, { own: others })).toThrow(/other suites/);
  const more = { ...own, checkIds: () => ['device.a', 'device.new'] };
  expect(() => verifyCertificate(certificate(), publicKey, { own: more })).toThrow(/incomplete: device.new missing/);
  const newer = { ...others, version: '0.2.0' };
  expect(verifyCertificate(certificate(), publicKey, { own: newer }).predicate.result).toBe('WARNED');
});

test('a certificate names its requirement set and the digest of that', () => {
  const requirements_digest = `sha256:${'e'.repeat(64)}`;
  const named = certificate(complete(good, { requirements_version: '2026-11-21', requirements_digest }));
  const statement = verifyCertificate(named, publicKey);
  expect(statement.predicate.configuration).toContainEqual({
    name: 'muster requirements of 2026-11-21 (device)',
    digest: { sha256: 'e'.repeat(64) },
  });
  expect(claimsOf(statement).claims[0]).toContain(`requirements of 2026-11-21 (${requirements_digest})`);
  const own = { version: '0.2.0', suites, checkIds: () => [], requirementsDigest: () => requirements_digest };
  expect(verifyCertificate(named, publicKey, { own }).predicate.result).toBe('WARNED');
  const unknown = { ...own, requirementsDigest: () => undefined };
  expect(verifyCertificate(named, publicKey, { own: unknown }).predicate.result).toBe('WARNED');
  const changed = { ...own, requirementsDigest: () => `sha256:${'f'.repeat(64)}` };
  expect(() => verifyCertificate(named, publicKey, { own: changed })).toThrow(/its requirements are not those of/);
});

test('a certificate of an older set is held against the checks of that set', () => {
  const since = (date: string) => {
    const id = `device.since-${date}`;
    const due = requirement({ id, level: 'MUST', section: '6.1', since: date, text: 'x' });
    return checks<never>()(due, { profile: date === '2026-11-21' ? 'core' : 'full' }, async () => {});
  };
  const dates = ['2026-11-21', '2027-06-01'];
  const all = suite<never>('device', [dates.map(since)], dates);
  const own = ownSuites('0.1.0', [all]);
  expect(own.checkIds('device', 'full', '2026-11-21')).toEqual(['device.since-2026-11-21']);
  expect(own.checkIds('device', 'full', '2027-06-01')).toEqual(dates.map((date) => `device.since-${date}`));
  expect(own.checkIds('device', 'core', '2027-06-01')).toEqual(['device.since-2026-11-21']);
  expect(own.checkIds('platform', 'full', '2027-06-01')).toEqual([]);
  expect(own.requirementsDigest('device', '2027-06-01')).toBe(requirementSet(all).digest);
  expect(own.requirementsDigest('device', '2028-01-01')).toBeUndefined();
  expect(own.suites).toEqual(suitesDigest());
});

test('a certificate about something else is refused', () => {
  const digest = `sha256:${'c'.repeat(64)}`;
  const report = complete(good, { target: { ...sampleReport().target, digest } });
  expect(verifyCertificate(certificate(report), publicKey, { digest }).subject[0]?.digest.sha256).toBe('c'.repeat(64));
  expect(() => verifyCertificate(certificate(report), publicKey, { digest: `sha256:${'d'.repeat(64)}` })).toThrow(
    /not about/,
  );
});

test.each<[string, Report, RegExp]>([
  ['a narrowed run', complete(good, { narrowed_by: ['--fast'] }), /narrowed by --fast/],
  [
    'a run with a blocked check',
    complete([...good, sampleResult({ id: 'device.d', outcome: 'blocked' })]),
    /1 checks were blocked/,
  ],
  ['an interrupted run', complete(good, { complete: false }), /did not end/],
  ['a run in which nothing ran', complete(good.slice(2)), /no check ran/],
  ['a run with a stale baseline', complete([...good, sampleResult({ id: 'device.d', outcome: 'fixed' })]), /stale/],
  [
    'a nameless target',
    complete(good, { target: { kind: 'unix', address: 'x', capabilities: [], control: 'none' } }),
    /nothing says what was tested/,
  ],
])('%s is not certified', (_, report, words) => {
  expect(() => statementOf(report, suites)).toThrow(words);
});

test('what fails is certified as failed, whatever the baseline excuses', () => {
  const failed = certificate(complete([...good, sampleFailure({ id: 'device.d', outcome: 'known', reason: 'later' })]));
  const { predicate } = verifyCertificate(failed, publicKey);
  expect(predicate).toMatchObject({ result: 'FAILED', failedTests: ['device.d'] });
});

test('a certificate says in words what it claims and what it does not', () => {
  const { headline, about, claims, not } = claimsOf(statementOf(complete(), suites));
  expect(headline).toBe('CONFORMANT: 2 of 3 checks decided it, 1 could not be decided');
  expect(about).toBe('example-agent 1.3.0 with the Device API');
  expect(claims.join('\n')).toContain('Every MUST that applied held (1 checks); these SHOULDs did not: device.b.');
  expect(not.join('\n')).toContain(
    '1 checks did not apply, and nothing is said about them:\n  needs loopback, which the target does not declare: device.c',
  );
  expect(not.join('\n')).toContain('Nothing shows which build was tested');
  const core = claimsOf(statementOf(complete(good, { profile: 'core' }), suites));
  expect(core.headline).toMatch(/^CONFORMANT in profile core: 2 of 3 checks decided it/);
  expect(core.not[0]).toBe('Only the checks of profile core were asked for; the suite has more.');
  const failed = claimsOf(statementOf(complete([sampleFailure({ id: 'device.d' })]), suites));
  expect(failed.headline).toBe('NOT CONFORMANT: 1 of 1 checks failed');
});

test('issuing writes the file whole, or nothing', () => {
  const file = join(folder, 'out/certificate.json');
  const issuer = certificateIssuer(file, keyFile);
  expect(() => issuer.issue(complete(good, { narrowed_by: ['--fast'] }))).toThrow(Refused);
  expect(existsSync(file)).toBe(false);
  expect(issuer.issue(complete())).toEqual({ file, keyId: keyId(publicKey), result: 'WARNED', verdict: 'CONFORMANT' });
  const { suites: tested } = verifyCertificate(readFileSync(file, 'utf8'), publicKey).predicate.muster;
  expect(tested).toEqual(suitesDigest());
});

test('keys: readable by their owner alone, never overwritten, of one kind', () => {
  expect(statSync(keyFile).mode & 0o777).toBe(0o600);
  const before = readFileSync(keyFile, 'utf8');
  expect(() => generateKey(keyFile)).toThrow(/is there already, and is not overwritten/);
  expect(readFileSync(keyFile, 'utf8')).toBe(before);
  const half = join(folder, 'half.pem');
  writeFileSync(`${half}.pub`, '');
  expect(() => generateKey(half)).toThrow(/half\.pem\.pub: is there already/);
  expect(existsSync(half)).toBe(false);
  expect(keyId(createPublicKey(createPrivateKey(before)))).toBe(keyId(publicKey));
  expect(() => readPublicKey(keyFile)).toThrow(/holds a private key/);
  const rsa = join(folder, 'rsa.pem');
  writeFileSync(
    rsa,
    generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
  );
  expect(() => readPrivateKey(rsa)).toThrow(/must be an Ed25519 key, and is rsa/);
  expect(() => certificateIssuer(join(folder, 'x'), undefined)).toThrow(/needs --key/);
});

test('the digest of the suites follows every file that decides a verdict, and no test', () => {
  const root = join(folder, 'tree');
  mkdirSync(join(root, 'suites/device'), { recursive: true });
  writeFileSync(join(root, 'suites/device/a.ts'), 'one');
  writeFileSync(join(root, 'suites/device/a.test.ts'), 'tests');
  const before = suitesDigest(root);
  expect(before.files).toBe(1);
  writeFileSync(join(root, 'suites/device/a.test.ts'), 'other tests');
  expect(suitesDigest(root)).toEqual(before);
  writeFileSync(join(root, 'suites/device/a.ts'), 'two');
  expect(suitesDigest(root).sha256).not.toBe(before.sha256);
});

test('a badge says no more than the run did', () => {
  expect(badge(complete())).toContain('conformant 2026-11-21');
  expect(badge(complete(good, { narrowed_by: ['--fast'], complete: false }))).toContain('partly checked');
  expect(badge(complete(good, { profile: 'core' }))).toContain('conformant (core) 2026-11-21');
  expect(badge(sampleReport())).toContain('not conformant');
});
