import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checks, requirement, requirementSet, suite } from '../../runner/define.ts';
import type { CheckResult, Report, TargetDescription } from '../../runner/types.ts';
import { temporaryFolder } from '../../targets/testing/places.ts';
import { sampleFailure, sampleReport, sampleResult } from '../testing/samples.ts';
import { jsonProblems } from '../testing/schemas.ts';
import { badge, claimsOf, ownSuites, verifyCertificate } from './certificate.ts';
import { type Statement, statementOf, suitesDigest } from './statement.ts';
import { certificate, complete, forged, good, publicKey, suites } from './testing/signed.ts';

const folder = temporaryFolder();
const OWN = {
  ...{ version: '0.1.0', suites, checkIds: () => ['device.a', 'device.b', 'device.c'] },
  ...{
    requirementsDigest: (): string | undefined => `sha256:${'e'.repeat(64)}`,
    requirementOf: (_: string, id: string) => id,
  },
  newestRequirements: '2026-01-01',
};

test('a certificate is an in-toto statement with the test-result predicate', () => {
  const problems = (statement: object) => jsonProblems('statement.schema.json', JSON.stringify(statement));
  expect(problems(statementOf(complete(), suites))).toEqual([]);
  expect(problems({ ...statementOf(complete(), suites), subject: [{ name: 'x' }] })).not.toEqual([]);
});

test('a certificate expires by its own date, or by the limits of its reader', () => {
  const ended = forged(changed({ valid_until: '2026-12-31' }));
  const verify = (options: object) => () => verifyCertificate(ended, publicKey, options);
  expect(verify({ now: new Date('2027-01-01T13:00:00Z') })).not.toThrow();
  expect(verify({ now: new Date('2027-01-03') })).toThrow('it was valid until 2026-12-31');
  const now = new Date('2026-12-01');
  expect(verify({ now, maxAgeMs: 86_400_000 })).toThrow(/its run began at .*, longer ago than is accepted/);
  expect(verify({ now, maxAgeMs: 60 * 86_400_000, atLeast: '2026-11-21' })).not.toThrow();
  expect(verify({ now, atLeast: '2026-11-25' })).toThrow('its requirements are of 2026-11-21, and those of 2026-11-25');
});

test('a certificate is valid for a year by default, and names its signer', () => {
  const { started_at: started } = complete();
  const next = `${Number(started.slice(0, 4)) + 1}${started.slice(4, 10)}`;
  expect(claimsOf(statementOf(complete(), suites)).about).toContain(`, valid until ${next}`);
  expect(claimsOf(statementOf(complete(), suites)).not).toContain(
    'It names no signer, and no place where the key is published.',
  );
  const words = { validUntil: '2030-06-30', signer: 'Arms Ltd, https://arms.example/key' };
  const { about, claims } = claimsOf(statementOf(complete(), suites, words));
  expect(about).toContain(', valid until 2030-06-30');
  const lookalike = forged((statement) => Object.assign(statement.subject[0] ?? {}, { name: '\u0430gent' }));
  const { not } = claimsOf(verifyCertificate(lookalike, publicKey, { now: new Date('2026-12-01') }));
  expect(not).toContain('Characters of its name may look like others: U+0430 \u0430.');
  expect(claims).toContain('The holder of the key goes by: Arms Ltd, https://arms.example/key.');
});

test('a certificate tells its reader of later requirements and their added checks', () => {
  const added = (ids: string[]) => {
    const checkIds = (_api: string, _profile: string, date: string) => (date > '2026-11-21' ? ids : ['device.a']);
    const own = { ...ownSuites('0.0.1', []), checkIds, newestRequirements: '2026-11-25' };
    return claimsOf(statementOf(complete(), suites), own).not.join('\n');
  };
  expect(added(['device.a'])).toContain('of 2026-11-25 are later, and ask nothing more of the profile full.');
  expect(added(['device.a', 'device.e'])).toContain('later, and ask 1 check more (device.e) of the profile full.');
});

test('a certificate is refused when its profile has an undecided requirement', () => {
  const open = { id: 'device.c', level: 'MUST', section: '2', outcome: 'undecided', reason: 'few', in_profile: true };
  const signed = forged(({ predicate }) => Object.assign(predicate.muster.verdicts[2] ?? {}, open));
  const own = { ...OWN, checkIds: () => [] };
  expect(() => verifyCertificate(signed, publicKey, { own })).toThrow(
    'the profile full asks for 1 requirement more: device.c',
  );
  const shared = { ...own, requirementOf: () => 'device.shared' };
  const two = forged(({ predicate }) => {
    Object.assign(predicate.muster.verdicts[2] ?? {}, open);
    Object.assign(predicate.muster.verdicts[0] ?? {}, { in_profile: true });
  });
  expect(verifyCertificate(two, publicKey, { own: shared }).predicate.result).toBe('WARNED');
});

test('unknown requirements are refused, and newer ones are not compared', () => {
  const at = '2026-11-30T00:00:00.000Z';
  const of = (date: string) => forged(changed({ requirements_version: date, started_at: at }));
  const now = new Date('2026-12-01');
  const own = ownSuites('0.0.1', [suite('device', [], ['2026-11-21'])]);
  expect(() => verifyCertificate(of('2026-11-20'), publicKey, { own, now })).toThrow(/no requirements of 2026-11-20/);
  const newer = verifyCertificate(of('2026-11-22'), publicKey, { own, now });
  expect(claimsOf(newer, own).not.join('\n')).toContain('does not know the requirements of 2026-11-22');
});

const changed =
  (members: object) =>
  ({ predicate }: Statement) =>
    Object.assign(predicate.muster, members);

test.each<[string, RegExp, (statement: Statement) => unknown]>([
  ['a run to come', /to come by the clock of this machine/, changed({ started_at: '2099-01-01T00:00:00.000Z' })],
  ['a run too early', /before its requirements of 2026-11-21/, changed({ started_at: '1999-01-01T00:00:00.000Z' })],
  ['requirements of no day', /its requirements are of soon/, changed({ requirements_version: 'soon' })],
  ['a wrong result', /the verdicts say WARNED/, ({ predicate }) => Object.assign(predicate, { result: 'PASSED' })],
  ['a list that lacks a verdict', /passedTests is not what/, ({ predicate }) => predicate.passedTests.pop()],
  ['no reason for one left out', /without a reason/, ({ predicate }) => delete predicate.muster.verdicts[2]?.reason],
  [
    'an undecided check',
    /undecided/,
    ({ predicate: { muster } }) => Object.assign(muster.verdicts[2] ?? {}, { outcome: 'blocked' }),
  ],
  ['a check twice', /two verdicts/, ({ predicate: { muster } }) => muster.verdicts.push(...muster.verdicts.slice(2))],
  ['a name that is not the subject', /does not fit its digest/, changed({ subject_version: '2' })],
  ['a digest measured and declared', /both measured and declared/, changed({ digest_of: 'executable' })],
  ['a subject that is not the artifact', /the subject is not the artifact/, changed({ digest_of: 'artifact' })],
  ['a day that no calendar has', /not a certificate: .*valid_until/, changed({ valid_until: '2027-13-45' })],
  ['a time that Date.parse does not read', /started_at/, changed({ started_at: '2020-01-01T00:00:00,5Z' })],
  ['another kind of statement', /not a certificate/, (statement) => Object.assign(statement, { predicateType: 'x' })],
])('a signed certificate with %s is refused', (_, words, change) => {
  expect(() => verifyCertificate(forged(change), publicKey)).toThrow(words);
});

test('an untrue declaration is on the certificate of a failed run, and prevents others', () => {
  const untrue = { name: 'retention', declared: 'at most 10 events', observed: '900 events', holds: false };
  const held = { ...untrue, name: 'heartbeat', holds: true };
  const sentence = 'retention: declared at most 10 events, and seen: 900 events';
  const declarations = [untrue, held];
  expect(() => statementOf({ ...complete(), declarations }, suites)).toThrow(`no certificate: ${sentence}`);
  const { muster } = statementOf({ ...complete(), declarations: [held] }, suites).predicate;
  expect(muster).not.toHaveProperty('declarations');
  const failing = sampleReport([sampleFailure()], { declarations });
  const statement = statementOf({ ...failing, complete: true }, suites);
  const { holds: _, ...told } = untrue;
  expect(statement.predicate.muster.declarations).toEqual([told]);
  expect(claimsOf(statement).claims).toContain(`It is not what it says of itself: ${sentence}.`);
});

test('a certificate of the same version is checked against the local suites', () => {
  expect(verifyCertificate(certificate(), publicKey, { own: OWN }).predicate.result).toBe('WARNED');
  const others = { ...OWN, suites: { ...suites, sha256: 'b'.repeat(64) } };
  expect(() => verifyCertificate(certificate(), publicKey, { own: others })).toThrow(/other suites/);
  const more = { ...OWN, checkIds: () => ['device.a', 'device.new'] };
  expect(() => verifyCertificate(certificate(), publicKey, { own: more })).toThrow(/incomplete: device.new missing/);
  const newer = { ...others, version: '0.2.0' };
  expect(verifyCertificate(certificate(), publicKey, { own: newer }).predicate.result).toBe('WARNED');
});

test('a certificate of any version is refused when it leaves requirements of its profile open', () => {
  const verify = (own: object) => () =>
    verifyCertificate(certificate(), publicKey, { own: { ...OWN, version: '9.9.9', ...own } });
  expect(verify({})).not.toThrow();
  const asked = ['device.a', ...Array.from({ length: 7 }, (_, n) => `device.new${n}`)];
  expect(verify({ checkIds: () => asked })).toThrow(/asks for 7 requirements more: device.new0, .*, device.new4, …$/);
  expect(verify({ checkIds: () => asked, requirementsDigest: () => undefined })).not.toThrow();
});

test('a certificate is refused when it decides less than half of its profile', () => {
  const open = { outcome: 'not_applicable', reason: 'forged' } as const;
  const few = forged(({ predicate }) => {
    Object.assign(predicate, { result: 'PASSED', warnedTests: [] });
    Object.assign(predicate.muster.verdicts[1] ?? {}, open);
  });
  const said = 'only 1 of 3 requirements of the profile full were decided';
  expect(() => verifyCertificate(few, publicKey, { own: OWN })).toThrow(said);
  const unknown = { ...OWN, checkIds: () => [], requirementsDigest: () => undefined };
  const claimed = forged(({ predicate }) => {
    Object.assign(predicate, { result: 'PASSED', warnedTests: [] });
    const { verdicts } = predicate.muster;
    for (const verdict of verdicts) delete verdict.in_profile;
    Object.assign(verdicts[0] ?? {}, { in_profile: true });
    Object.assign(verdicts[1] ?? {}, open);
  });
  expect(() => verifyCertificate(claimed, publicKey, { own: unknown })).toThrow(said);
  const checks = good.map((check, at): CheckResult => ({ ...check, in_profile: true, ...(at > 0 && open) }));
  expect(() => statementOf(complete(checks), suites)).toThrow(`no certificate: ${said}`);
});

test('a certificate names its requirement set and the digest of the set', () => {
  const requirements_digest = `sha256:${'e'.repeat(64)}`;
  const named = certificate(complete(good, { requirements_version: '2026-11-21', requirements_digest }));
  const statement = verifyCertificate(named, publicKey);
  const set = { name: 'muster requirements of 2026-11-21 (device)', digest: { sha256: 'e'.repeat(64) } };
  expect(statement.predicate.configuration).toContainEqual(set);
  expect(claimsOf(statement).claims[0]).toContain(`requirements of 2026-11-21 (${requirements_digest})`);
  const own = { ...OWN, version: '0.2.0', checkIds: () => [], requirementsDigest: () => requirements_digest };
  expect(verifyCertificate(named, publicKey, { own }).predicate.result).toBe('WARNED');
  const unknown = { ...own, requirementsDigest: () => undefined };
  expect(verifyCertificate(named, publicKey, { own: unknown }).predicate.result).toBe('WARNED');
  const changed = { ...own, requirementsDigest: () => `sha256:${'f'.repeat(64)}` };
  expect(() => verifyCertificate(named, publicKey, { own: changed })).toThrow(/its requirements are not those of/);
});

test('a certificate of an older set is checked against that set', () => {
  const since = (date: string) => {
    const due = requirement({ id: `device.since-${date}`, level: 'MUST', section: '6.1', since: date, text: 'x' });
    return checks<never>()(due, date === '2026-11-21' ? {} : { needs: ['drive'] }, async () => {});
  };
  const dates = ['2026-11-21', '2027-06-01'];
  const all = suite<never>('device', [dates.map(since)], dates);
  const own = ownSuites('0.1.0', [all]);
  expect(own.checkIds('device', 'full', '2026-11-21')).toEqual(['device.since-2026-11-21']);
  expect(own.checkIds('device', 'full', '2027-06-01')).toEqual(dates.map((date) => `device.since-${date}`));
  expect(own.checkIds('device', 'observed', '2027-06-01')).toEqual(['device.since-2026-11-21']);
  expect(own.checkIds('platform', 'full', '2027-06-01')).toEqual([]);
  expect(own.requirementsDigest('device', '2027-06-01')).toBe(requirementSet(all).digest);
  expect(own.requirementsDigest('device', '2028-01-01')).toBeUndefined();
  expect(own.suites).toEqual(suitesDigest());
});

const ended = (outcome: 'blocked' | 'fixed') => sampleResult({ id: 'device.d', outcome });
const undecided = { checks: 3, decided: 2, undecided: [{ checks: 1, why: 'needs log' }] };
const nameless = { kind: 'unix', address: 'x', capabilities: [], control: 'none' };

test.each<[string, Report, RegExp]>([
  [
    'a run with a failed and a blocked check',
    complete([...good, sampleFailure({ id: 'device.e' }), ended('blocked')]),
    /: a MUST does not hold, and 1 check was blocked/,
  ],
  ['a narrowed run', complete(good, { narrowed_by: ['--fast'] }), /narrowed by --fast/],
  ['a run in which nothing ran', complete(good.slice(2)), /no check decided anything/],
  ['a run with a stale baseline', complete([...good, ended('fixed')]), /stale/],
  ['an undecided profile', complete(good, { profile_coverage: undecided }), /full is not decided: 1 needs log/],
  ['a nameless target', complete(good, { target: nameless }), /nothing says what was tested/],
])('%s is not certified', (_, report, words) => {
  expect(() => statementOf(report, suites)).toThrow(words);
});

test('failures that the baseline excuses are certified as failed', () => {
  const failed = certificate(complete([...good, sampleFailure({ id: 'device.d', outcome: 'known', reason: 'later' })]));
  const { predicate } = verifyCertificate(failed, publicKey);
  expect(predicate).toMatchObject({ result: 'FAILED', failedTests: ['device.d'] });
  const flaky = certificate(complete([...good, sampleResult({ id: 'device.d', outcome: 'flaky', reason: 'later' })]));
  const statement = verifyCertificate(flaky, publicKey);
  expect(statement.predicate).toMatchObject({ result: 'FAILED', failedTests: ['device.d'] });
  expect(claimsOf(statement).claims.join()).toContain('fail now and then, and may have passed in this run: device.d.');
});

test('a certificate lists in words its claims and their limits', () => {
  const { headline, about, not } = claimsOf(statementOf(complete(), suites));
  expect(headline).toBe('CONFORMANT: full, 2026-11-21 · 2 of 3 checks decided it, 1 could not be decided');
  expect(about).toBe('example-agent 1.3.0 with the Device API, valid until 2027-11-21');
  const few = sampleResult({ id: 'device.e', outcome: 'undecided', reason: 'it saw nothing' });
  const outside = { profile_coverage: { checks: 3, decided: 3, undecided: [] } };
  const unseen = claimsOf(statementOf(complete([...good, few], outside), suites));
  expect(unseen.headline).toContain('2 of 4 checks decided it, 2 could not be decided');
  expect(unseen.not.join('\n')).toContain('  it saw nothing: device.e');
  const within = sampleResult({ id: 'device.f', in_profile: true });
  expect(claimsOf(statementOf(complete([...good, within]), suites)).claims.join('\n')).toContain(
    'the profile was decided and held (1 check); these SHOULDs did not: device.b.',
  );
  expect(not.join('\n')).toContain(
    '1 check did not apply or saw too little; nothing is said there:\n' +
      '  needs loopback, which the target does not declare: device.c',
  );
  expect(not.join('\n')).toContain('Nothing shows which build was tested');
  const core = claimsOf(statementOf(complete(good, { profile: 'driven' }), suites));
  expect(core.headline).toMatch(/^CONFORMANT: driven, 2026-11-21 · 2 of 3 checks decided it/);
  expect(core.not[0]).toBe('Only the profile driven was asked of it; full asks for more.');
  const failed = claimsOf(statementOf(complete([sampleFailure({ id: 'device.d' })]), suites));
  expect(failed.headline).toBe('NOT CONFORMANT: full, 2026-11-21 · 1 of 1 checks failed');
});

test.each<[Partial<Report>, string]>([
  [{}, '… --profile full --requirements 2026-11-21 --seed 4711'],
  [{ options: { runs: 3 } }, '--seed 4711 --runs 3'],
  [{ profile: 'full; rm x' }, "--profile 'full; rm x' --requirements"],
  [
    { api: 'platform', target: { ...complete().target, api_version: '2026-03-09.tetons', dialect: 'miru' } },
    '--seed 4711 --api-version 2026-03-09.tetons --dialect miru',
  ],
])('a certificate of a run with %j names the command that repeats it', (change, words) => {
  expect(claimsOf(statementOf(complete(good, change), suites)).not.at(-1)).toContain(words);
});

test('a kill is attributed to the control, unless Muster carried it out', () => {
  const of = (control: string, capabilities: Report['target']['capabilities']): string => {
    const target = { ...complete().target, control, capabilities };
    return claimsOf(statementOf(complete(good, { target }), suites)).not.join('\n');
  };
  expect(of('http /run/c.sock + process', ['restart'])).toContain('that it was one is the word of that control');
  expect(of('process', ['restart'])).not.toContain('SIGKILL');
  expect(of('http /run/c.sock', ['drive'])).not.toContain('SIGKILL');
});

test.each([
  ['http /tmp/muster-3ei_1x_ab12_QrStUv/control.sock + process', 'http control.sock + process'],
  ['http http://127.0.0.1:7700/control', 'http http://127.0.0.1:7700/control'],
  ['http HTTP://127.0.0.1:7700/control', 'http HTTP://127.0.0.1:7700/control'],
])('a certificate names the control %s as %s', (control, named) => {
  const target = { ...complete().target, control };
  expect(statementOf(complete(good, { target }), suites).predicate.muster.control).toBe(named);
});

test('the digest of the suites covers the files that decide verdicts, and no tests', () => {
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

test('a badge claims no more than the run showed', () => {
  expect(badge(complete())).toContain('conformant: full, 2026-11-21');
  expect(badge(complete(good, { narrowed_by: ['--fast'], complete: false }))).toContain('partly checked');
  expect(badge(complete(good, { profile: 'driven' }))).toContain('conformant: driven, 2026-11-21');
  expect(badge(sampleReport())).toContain('not conformant');
  const named = complete(good, { started_at: '2026-11-22T10:00:00.000Z' });
  for (const product of [{ name: 'acme-agent' }, { executable: 'acme-agent' }]) {
    const shown = badge({ ...named, target: { ...unnamed, ...product, version: '1.4' } });
    expect(shown).toContain('acme-agent 1.4: conformant: full, 2026-11-21, tested 2026-11-22');
  }
});

const [measured, named] = [`sha256:${'c'.repeat(64)}`, `sha256:${'d'.repeat(64)}`];

const artifact = { name: 'agent', digest: named };
const { name: _name, version: _version, ...unnamed } = sampleReport().target;
const IMAGE = { ...unnamed, kind: 'image', digest: measured, digest_of: 'image' } as const;
const CHANGED = { ...unnamed, name: 'a', version: '1', executable: 'a', digest_missing: 'a was changed' };
const WORD_ONLY = 'What was tested is known by what the signer says of it only.';

test.each<[string, TargetDescription, string, string[], RegExp[]]>([
  ['an image', IMAGE, `Muster ran the image with the digest ${measured}.`, [measured], []],
  [
    'an executable',
    { ...unnamed, digest: measured, digest_of: 'executable', executable: 'agentd' },
    `Muster executed the file agentd, which had the digest ${measured} before the run and after it.`,
    [measured],
    [/What agentd loads or starts was not measured/],
  ],
  [
    'an artifact alone',
    { ...unnamed, artifact },
    WORD_ONLY,
    [named],
    [/Nothing shows which build was tested/, /The signer names a file agent with the digest sha256:d+; nothing shows/],
  ],
  ['a command that changed', CHANGED, WORD_ONLY, [], [/What the command ran has no digest: a was changed/]],
])('%s is claimed only as far as it was measured', (_, target, claim, digests, words) => {
  const text = certificate(complete(good, { target }));
  const statement = verifyCertificate(text, publicKey);
  const { claims, not } = claimsOf(statement);
  expect(claims).toContain(claim);
  for (const word of words) expect(not.join('\n')).toMatch(word);
  for (const digest of [measured, named]) {
    const verify = () => verifyCertificate(text, publicKey, { digest });
    if (digests.includes(digest)) expect(verify()).toEqual(statement);
    else expect(verify).toThrow(/not about/);
  }
});
