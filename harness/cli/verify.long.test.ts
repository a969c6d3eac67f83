import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { certificateIssuer } from '../reports/certificate/certificate.ts';
import { sampleFailure, sampleReport, sampleResult } from '../reports/testing/samples.ts';
import { refusal } from './testing/in-process.ts';
import { muster } from './testing/muster.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-verify-'));
afterAll(() => rmSync(folder, { recursive: true }));
const key = join(folder, 'key.pem');
const file = join(folder, 'certificate.json');

test('a key is made, a run certified, the certificate verified, and a changed one refused', async () => {
  expect((await muster('keygen', key)).stdout).toMatch(/key id [0-9a-f]{64}/);
  expect(await muster('keygen', key)).toMatchObject({ code: 64, stderr: expect.stringContaining('not overwritten') });

  // A version of its own, so that its verdicts are not held against the suites at hand.
  const report = { ...sampleReport([sampleResult()], { complete: true }), muster: '0.0.1-sample' };
  certificateIssuer(file, key).issue(report);
  const good = await muster('verify', file, '--key', `${key}.pub`);
  expect(good).toMatchObject({ code: 0 });
  expect(good.stdout).toMatch(/^CONFORMANT: 1 of 1 checks decided it\nexample-agent 1.3.0 with the Device API\n/);
  expect(good.stdout).toContain('It does not claim');

  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace(/"payload": "./, '"payload": "f'));
  const refused = await muster('verify', file, '--key', `${key}.pub`);
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.stdout).toMatch(/REFUSED .*the signature does not fit/);

  certificateIssuer(file, key).issue({ ...report, checks: [sampleFailure()], summary: { ...report.summary, fail: 1 } });
  const failed = await muster('verify', file, '--key', `${key}.pub`, '--json');
  expect(failed).toMatchObject({ code: 1 });
  expect(JSON.parse(failed.stdout).predicate.result).toBe('FAILED');
});

test('a file of 600 MB is refused as a certificate, without being read', async () => {
  const huge = join(folder, 'huge.json');
  writeFileSync(huge, '{"payload":"');
  truncateSync(huge, 600_000_000);
  const refused = await muster('verify', huge, '--key', `${key}.pub`);
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.stdout).toMatch(/REFUSED .*no certificate: it has more than 67108864 bytes/);
});

const pipe = join(folder, 'pipe');
execFileSync('mkfifo', [pipe]);
const target = { socket: ['check', 'device', '--socket', 'x'], certificate: join(folder, 'c.json') };
const named = [...target.socket, '--name', 'a', '--target-version', '1', '--certificate'];

test.each([
  [['verify', folder, '--key', `${key}.pub`], /cannot be read \(it is a folder\)/],
  [['verify', pipe, '--key', `${key}.pub`], /cannot be read \(it is a pipe into which nobody writes\)/],
  [['verify', file, '--key', folder], /--key .*: no public key in PEM form \(it is a folder\)/],
  [['verify', file, '--key', `${key}.pub`, '--digest', 'foo'], /--digest: must be sha256: and 64 hex digits/],
  [['keygen', folder], /is a folder; name a file in it/],
  [[...target.socket, '--baseline', folder], /--baseline .*: cannot be read \(it is a folder\)/],
  [[...target.socket, '--baseline', pipe], /--baseline .*: cannot be read \(it is a pipe/],
  [[...target.socket, '--baseline', '/proc/none', '--update-baseline'], /--baseline .*: cannot write/],
  [['check', 'device', '--target', folder], /--target .*: cannot be read \(it is a folder\)/],
  [['check', 'device', '--target', pipe], /--target .*: cannot be read \(it is a pipe/],
  [[...named, folder, '--key', key], /--certificate .*: cannot write .* is a folder/],
  [[...named, target.certificate, '--key', folder], /--key .*: no private key in PEM form \(it is a folder\)/],
  [[...named, target.certificate, '--key', '/nonexistent'], /--key \/nonexistent: no private key/],
  [['verify', '/nonexistent', '--key', '/nonexistent'], /--key \/nonexistent: no public key in PEM form/],
  [['verify', '/nonexistent'], /key/],
  [['explain', 'device.nothing.like.it'], /no requirement and no check has that id/],
  [['list', 'robots'], /robots/],
])('%j is a usage error that says what is accepted', async (words, message) => {
  expect(await refusal(words)).toMatch(message);
});
