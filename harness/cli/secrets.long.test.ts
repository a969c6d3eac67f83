/** Secrets in a whole run: what a dying target writes reaches stdout, stderr and every report, and its secret reaches none of them. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { REPORT_FORMATS } from '../reports/create.ts';
import { Running } from './testing/muster.ts';

const SECRET = 'k7Q2-xW9z_Bf4vN8';
const folder = mkdtempSync(join(tmpdir(), 'muster-secrets-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Every piece of the secret that is long enough to be of use. */
function expectNoSecret(texts: Record<string, string>): void {
  for (const [name, text] of Object.entries(texts)) {
    for (let at = 0; at + 6 <= SECRET.length; at += 1) {
      expect(text.includes(SECRET.slice(at, at + 6)), `${name} has ${SECRET.slice(at, at + 6)}`).toBe(false);
    }
  }
}

test('an agent that prints its token as it dies', async () => {
  writeFileSync(
    join(folder, 'agent.sh'),
    `echo "padding $1" >&2
for i in $(seq 300); do printf 'token=%s ' "$MUSTER_TOKEN" >&2; done
printf '\\n{"token":"%s"}\\n' "$MUSTER_TOKEN"
exit 7
`,
  );
  const reports = REPORT_FORMATS.flatMap((format) => ['--report', `${format}=${join(folder, `out.${format}`)}`]);
  const running = new Running(
    [
      'check',
      'device',
      '--url',
      'http://127.0.0.1:1',
      '--command',
      `sh ${folder}/agent.sh ${SECRET}`,
      '--fast',
      ...reports,
      '--report',
      'pretty',
    ],
    { env: { MUSTER_TOKEN: SECRET } },
  );
  const { code, stdout, stderr } = await running.ended;
  expect(code).toBe(2);
  expect(stdout).toMatch(/ended with exit code 7 before it served .*token=\*\*\*/s);
  const files = readdirSync(folder).filter((name) => name.startsWith('out.'));
  expect(files.length).toBe(REPORT_FORMATS.length);
  const texts = Object.fromEntries(files.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
  expectNoSecret({ stdout, stderr, ...texts });
});

test('a failure of Muster itself', async () => {
  const words = ['check', 'platform', '--url', 'http://127.0.0.1:1/beta', '--only', 'platform.list.envelope'];
  const env = { MUSTER_API_KEY: SECRET };
  const broken = ['--report', 'json=/dev/full', '--name', SECRET];
  const trouble = await new Running([...words, ...broken], { env }).ended;
  expect(trouble.stderr).toContain('ENOSPC');
  expect(trouble.code).toBe(3);
  expectNoSecret({ trouble: trouble.stderr + trouble.stdout });
});

test('a key too short to be found in text is still in no report', async () => {
  const file = join(folder, 'short.json');
  const running = new Running([
    'check',
    'platform',
    '--url',
    'http://127.0.0.1:1/beta',
    '--api-key',
    '~!~',
    '--report',
    'pretty',
    '--report',
    `json=${file}`,
  ]);
  const { code, stdout, stderr } = await running.ended;
  expect(code).toBe(2);
  expect(stdout + stderr + readFileSync(file, 'utf8')).not.toContain('~!~');
});
