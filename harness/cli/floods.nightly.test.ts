import process from 'node:process';
import { expect, test, vi } from 'vitest';
import { DRIPS, FLOODS, nullServer } from '../../simulators/defects/null.ts';
import { keepingStatus, mostBytesIn } from './testing/memory.ts';
import { Running, reportIn, typed, useFolder } from './testing/muster.ts';

const at = useFolder();

const MOST_BYTES = 512 * 2 ** 20;

const CREDENTIALS = {
  device: ['--token', 'token_0123456789abcdef'],
  platform: ['--api-key', 'key_full_0123456789', '--limited-key', 'key_limited_0123456789'],
} as const;
const subjects = (['device', 'platform'] as const).flatMap((api) =>
  [...FLOODS, ...DRIPS].map((name) => [api, name] as const),
);
// The longest test takes a minute on an idle machine.
vi.setConfig({ testTimeout: 600_000 });
const onLinux = test.skipIf(process.platform !== 'linux');

onLinux.each(subjects)('check %s needs at most 512 MiB of memory on the target %s', async (api, name) => {
  await using server = await nullServer(name, { port: 0 });
  const file = at(`${api}-${name}`);
  const place = ['--url', server.address, ...CREDENTIALS[api]];
  const words = typed`check ${api} ${place} --patience 2 --report json=${file}.json`;
  await using run = new Running(words, { env: keepingStatus(file) });
  const { code } = await run.ended;
  expect([1, 2]).toContain(code);
  const { checks } = reportIn(`${file}.json`);
  const named = checks.filter(({ outcome }) => outcome === 'fail' || outcome === 'blocked');
  expect(named.length).toBeGreaterThan(0);
  for (const { actual, reason } of named) expect(`${actual ?? ''}${reason ?? ''}`).not.toBe('');
  const bytes = mostBytesIn(file);
  // Guards against a failed measurement, because Node itself takes more than 30 MB.
  expect(bytes).toBeGreaterThan(30_000 * 1024);
  expect(bytes).toBeLessThan(MOST_BYTES);
});
