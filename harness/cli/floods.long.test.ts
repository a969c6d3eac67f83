/** However much a target sends, the command takes no more memory than a small container has. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { FLOODS, nullServer } from '../../simulators/defects/null.ts';
import { FaultyProxy } from './fleet-faults/testing/faults.ts';
import { Running } from './testing/muster.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-floods-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const MOST_BYTES = 300_000_000;

/** Writes the most memory that the process ever had, when it exits. */
const measure = join(folder, 'measure.mjs');
writeFileSync(
  measure,
  `import { readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';
process.on('exit', () => writeFileSync(process.env.MEMORY_FILE, readFileSync('/proc/self/status')));
`,
);

const CREDENTIALS = {
  device: ['--token', 'token_0123456789abcdef'],
  platform: ['--api-key', 'key_full_0123456789', '--limited-key', 'key_limited_0123456789'],
} as const;
const subjects = (['device', 'platform'] as const).flatMap((api) => FLOODS.map((name) => [api, name] as const));

test.skipIf(process.platform !== 'linux').each(subjects)('check %s, where the target %s', async (api, name) => {
  await using server = await nullServer(name, { port: 0 });
  const file = join(folder, `${api}-${name}`);
  await using run = new Running(
    ['check', api, '--url', server.address, ...CREDENTIALS[api], '--patience', '2', '--report', `json=${file}.json`],
    { env: { NODE_OPTIONS: `--import=${pathToFileURL(measure).href}`, MEMORY_FILE: file } },
  );
  const { code } = await run.ended;
  expect([1, 2]).toContain(code);
  const kibibytes = Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(file, 'utf8'))?.[1]);
  // Node alone takes more than that.
  expect(kibibytes).toBeGreaterThan(30_000);
  expect(kibibytes * 1024).toBeLessThan(MOST_BYTES);
});

test.skipIf(process.platform !== 'linux')('an interrupt ends a check of nested JSON, with a report', async () => {
  await using server = await nullServer('nested-json', { port: 0 });
  await using proxy = await FaultyProxy.before(server.address);
  const file = join(folder, 'interrupted.json');
  const words = ['--patience', '2', '--report', `json=${file}`];
  await using run = new Running([
    'check',
    'platform',
    '--url',
    proxy.instead(server.address),
    ...CREDENTIALS.platform,
    ...words,
  ]);
  let answers = 0;
  proxy.resets = () => {
    if (++answers === 1) run.child.kill('SIGTERM');
    return false;
  };
  const { code } = await run.ended;
  expect(code).toBe(2);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ interrupted: true, complete: false, exit_code: 2 });
});
