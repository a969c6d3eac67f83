import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { simulateDevice } from '../../simulators/device/index.ts';
import { certificateIssuer, ownSuites } from '../reports/certificate/certificate.ts';
import { generateKey } from '../reports/certificate/envelope.ts';
import { LASTING } from '../reports/certificate/testing/signed.ts';
import { sampleReport, sampleResult } from '../reports/testing/samples.ts';
import type { CheckResult } from '../runner/types.ts';
import { digestOf } from '../targets/identity.ts';
import { loadSuites } from './catalogue.ts';
import { MAIN, muster, printed, refusal, typed, useFolder } from './testing/muster.ts';

const at = useFolder();
const [agent, key, certificate, other] = [at('agent'), at('key.pem'), at('certificate.json'), at('other')];
const robot = at('robot');
beforeAll(async () => {
  writeFileSync(other, 'never ran');
  await using device = await simulateDevice({ dir: robot });
  await device.publish(30);
  await device.deploy();
  generateKey(key);
});

const verify = async (...options: string[]): Promise<{ code: number; text: string }> => {
  const { code, text } = await printed(['verify', certificate, '--key', `${key}.pub`, ...options]);
  return { code, text: text.replaceAll(/\s+/g, ' ') };
};

test('a certificate claims the executed file, not a file that the signer names', async () => {
  writeFileSync(agent, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' simulate device "$@"\n`);
  chmodSync(agent, 0o755);
  writeFileSync(at('target.yaml'), 'control: { heartbeat_seconds: 1 }\n');
  const serve = `${agent} --socket {socket} --dir ${robot} --heartbeat 1s`;
  const run = typed`check device --command ${serve} --target ${at('target.yaml')} --profile observed`;
  const certified = await muster(...run, '--artifact', other, '--certificate', certificate, '--key', key);
  expect(certified.code, certified.stdout).toBe(0);
  const { code, text } = await verify('--artifact', other);
  expect(code).toBe(0);
  const usual = at('usual.json');
  await muster(...run, '--report', `json=${usual}`);
  const inputsOf = (checks: { saw?: Record<string, number> }[]): number =>
    checks.reduce((sum, { saw }) => sum + (saw?.['inputs'] ?? 0), 0);
  const { predicate } = JSON.parse((await printed(['verify', certificate, '--key', `${key}.pub`, '--json'])).text);
  const tried = inputsOf(predicate.muster.verdicts);
  expect(tried).toBeGreaterThan(2 * inputsOf(JSON.parse(readFileSync(usual, 'utf8')).checks));
  expect(text).toContain(`properties were tried on ${tried} samples`);
  const [claims = '', not = ''] = text.split('It does not claim');
  expect(claims).toContain(`Muster executed the file agent, which had the digest ${digestOf(agent)} before the run`);
  expect(claims).not.toContain(digestOf(other));
  expect(not).toContain(`The signer names a file other with the digest ${digestOf(other)}; nothing shows that it is`);
  expect(not).toContain(' --runs 3');
  expect(await verify('--artifact', agent)).toMatchObject({ code: 0 });
  expect(await verify('--artifact', MAIN)).toMatchObject({ code: 2, text: expect.stringContaining('not about') });
});

test('a check stops its command and removes {dir} only after writing the reports', async () => {
  const [report, seen] = [at('report.json'), at('seen')];
  const serve = `'${process.execPath}' '${MAIN}' simulate device --socket {socket} --dir {dir}`;
  const command = `trap "ls -d {dir} '${report}' > '${seen}'; wait" TERM; ${serve} & wait`;
  const only = ['--fast', '--only', 'device.deployment.shape', '--report', `json=${report}`];
  await muster('check', 'device', '--command', command, ...only);
  const places = readFileSync(seen, 'utf8').trim().split('\n');
  expect(places).toEqual(expect.arrayContaining([expect.stringMatching(/\/agent$/), report]));
  expect(places).toHaveLength(2);
});

const signer = at('signer.pem');
const file = at('sample.json');

const wholeProfile = async (): Promise<CheckResult[]> => {
  const { api, profile, requirements_version: date } = sampleReport();
  return ownSuites('0.0.1', await loadSuites())
    .checkIds(api, profile, date)
    .map((id) => sampleResult({ id }));
};

test('verify accepts a whole certificate by a key of keygen, as text and as a page', async () => {
  expect((await muster('keygen', signer)).stdout).toMatch(/key id [0-9a-f]{64}/);
  const verified = (...more: string[]) => printed(['verify', file, '--key', `${signer}.pub`, ...more]);

  // Names another version of Muster, so that `verify` compares only requirements, and not checks, with its own.
  const older = { complete: true, muster: '0.0.1-sample' };
  certificateIssuer(file, signer, LASTING).issue(sampleReport([sampleResult()], older));
  const few = await verified();
  expect([few.code, few.text]).toEqual([2, expect.stringMatching(/full asks for \d+ requirements more/)]);
  const report = sampleReport(await wholeProfile(), older);
  certificateIssuer(file, signer, LASTING).issue(report);
  const good = await muster('verify', file, '--key', `${signer}.pub`);
  expect(good).toMatchObject({ code: 0, stdout: expect.stringContaining('It does not claim') });
  expect(good.stdout).toMatch(
    /^CONFORMANT: full, 2026-11-21 · (\d+) of \1 checks decided it\nexample-agent 1.3.0 .*, valid until 2999-12-31\n/,
  );

  const page = at('certificate.html');
  expect(await verified('--report', `html=${page}`)).toMatchObject({ code: 0, text: '' });
  expect(readFileSync(page, 'utf8')).toMatch(
    /<h1>CONFORMANT: full[\s\S]*It does not claim[\s\S]*device\.deployment\.shape/,
  );

  const { newestRequirements } = ownSuites('0.0.1', await loadSuites());
  const { code, text } = await verified('--at-least', '2999-01-01');
  expect([code, text]).toEqual([2, expect.stringMatching(/^REFUSED .*those of 2999-01-01 or later are asked for\n/)]);
  expect(text).toContain(`knows are those of ${newestRequirements}.\n`);
});

const folder = at();
const target = { socket: ['check', 'device', '--socket', 'x'], certificate: at('c.json') };
const named = [...target.socket, '--name', 'a', '--target-version', '1', '--certificate'];

test.each([
  [['verify', folder, '--key', `${signer}.pub`], /cannot be read \(it is a folder\)/],
  [['verify', file, '--key', folder], /--key .*: no public key in PEM form \(it is a folder\)/],
  [['verify', file, '--key', `${signer}.pub`, '--digest', 'foo'], /--digest: must be sha256: and 64 hex digits/],
  [[...target.socket, '--baseline', '/proc/none', '--update-baseline'], /--baseline .*: cannot write/],
  [[...named, folder, '--key', signer], /--certificate .*: cannot write .* is a folder/],
  [[...named, target.certificate, '--key', '/nonexistent'], /--key \/nonexistent: no private key/],
  [['verify', file, '--key', `${signer}.pub`, '--max-age', 'soon'], /--max-age: 'soon' is no duration: a number and/],
  [['verify', file, '--key', `${signer}.pub`, '--at-least', '1.0'], /--at-least 1\.0: must be the date of/],
  [['verify', file, '--key', `${signer}.pub`, '--at-least', '2026-13-45'], /--at-least 2026-13-45: must be the/],
  [[...named, target.certificate, '--key', signer, '--valid-until', '2020-01-01'], /--valid-until 2020-01-01: must be/],
])('%j is a usage error with its reason', async (words, message) => {
  expect(await refusal(words)).toMatch(message);
});

test('verify escapes line breaks in a signed name', async () => {
  const target = { ...sampleReport().target, name: 'robot\n\nIt claims\n  · Everything.\n::error title=x::pwned' };
  const report = sampleReport(await wholeProfile(), { complete: true, muster: '0.0.1', target });
  certificateIssuer(certificate, key, LASTING).issue(report);
  const { code, text } = await printed(['verify', certificate, '--key', `${key}.pub`]);
  expect(code).toBe(0);
  expect(text).toContain('robot␊␊It claims␊  · Everything.␊');
  expect(text.match(/^It claims$/gm)).toHaveLength(1);
});
