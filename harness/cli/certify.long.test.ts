/** What a certificate says of a command that Muster ran, from the command line. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { digestOf } from '../targets/identity.ts';
import { muster } from './testing/muster.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-certify-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string): string => join(folder, name);
const [agent, key, certificate, other] = [at('agent'), at('key.pem'), at('certificate.json'), at('other')];
const MAIN = join(import.meta.dirname, 'main.ts');
beforeAll(async () => {
  writeFileSync(other, 'never ran');
  await muster('keygen', key);
});

/** `first` is what the agent does before it serves. */
function certify(first: string, ...options: string[]): ReturnType<typeof muster> {
  writeFileSync(
    agent,
    `#!/bin/sh\n${first}\nexec '${process.execPath}' '${MAIN}' simulate device --socket "$1" --dir "$2"\n`,
  );
  chmodSync(agent, 0o755);
  const run = ['check', 'device', '--command', `${agent} {socket} {dir}`, '--profile', 'core'];
  return muster(...run, '--certificate', certificate, '--key', key, ...options);
}
const verify = async (...options: string[]): Promise<{ code: number | null; text: string }> => {
  const { code, stdout } = await muster('verify', certificate, '--key', `${key}.pub`, ...options);
  return { code, text: stdout.replaceAll(/\s+/g, ' ') };
};

test('the file that was executed is measured; one that the signer names is not claimed', async () => {
  expect(await certify(':', '--artifact', other)).toMatchObject({ code: 0 });
  const { code, text } = await verify('--artifact', other);
  expect(code).toBe(0);
  const [claims = '', not = ''] = text.split('It does not claim');
  expect(claims).toContain(`Muster executed the file agent, which had the digest ${digestOf(agent)} before the run`);
  expect(claims).not.toContain(digestOf(other));
  expect(not).toContain(`The signer names a file other with the digest ${digestOf(other)}; nothing shows that it is`);
  expect(await verify('--artifact', agent)).toMatchObject({ code: 0 });
  expect(await verify('--artifact', MAIN)).toMatchObject({ code: 2, text: expect.stringContaining('not about') });
}, 120_000);

test('a file that changes while it runs has no digest, and is certified by its name alone', async () => {
  const change = 'echo "# changed" >> "$0"';
  const nameless = await certify(change);
  expect(nameless.stderr).toContain('no certificate: nothing says what was tested (agent was changed during the run)');
  expect(nameless.code).toBe(2);
  expect(await certify(change, '--name', 'robot', '--target-version', '7')).toMatchObject({ code: 0 });
  const { text } = await verify();
  expect(text).toMatch(/robot 7 with the Device API .*It does not claim .*has no digest: agent was changed during/);
}, 120_000);

test('a command, and the places of its placeholders, are there until the reports are written', async () => {
  const [report, seen] = [at('report.json'), at('seen')];
  const serve = `'${process.execPath}' '${MAIN}' simulate device --socket {socket} --dir {dir}`;
  const look = `ls -d {dir} '${report}' > '${seen}'; wait`;
  const command = `trap "${look}" TERM; ${serve} & wait`;
  const only = ['--fast', '--only', 'device.deployment.shape', '--report', `json=${report}`];
  await muster('check', 'device', '--command', command, ...only);
  const places = readFileSync(seen, 'utf8').trim().split('\n');
  // `ls` sorts them.
  expect(places).toEqual(expect.arrayContaining([expect.stringMatching(/\/agent$/), report]));
  expect(places).toHaveLength(2);
}, 120_000);
