import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { CommandControl } from './command-control.ts';
import { combinedControl } from './layers.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-combined-'));
afterAll(() => rmSync(folder, { recursive: true }));
const called = join(folder, 'called');
const commands = (name: string, which: readonly ('drive' | 'compact' | 'stop' | 'start')[], limits: object) => {
  const answers = { drive: '{"id":"dpl_1"}', compact: '{"earliest_id":1,"latest_id":2}', stop: '', start: '' };
  const lines = which.map((one) => [one, `echo ${name} ${one} >> ${called}; echo '${answers[one]}'`]);
  return new CommandControl({ ...Object.fromEntries(lines), ...limits }, { env: process.env });
};

test('each call goes to the first control that offers it', async () => {
  const first = commands('first', ['drive'], { retention: 5 });
  const second = commands('second', ['drive', 'compact', 'stop', 'start'], { retention: 9, event_log: '/log' });
  const both = combinedControl(first, second);
  const { capabilities, ...limits } = await both.info();
  expect(capabilities.toSorted()).toEqual(['compact', 'drive', 'log', 'restart']);
  expect(limits).toEqual({ retention: 5, event_log: '/log' });
  await both.deploy();
  await both.compact();
  await both.stop();
  await both.start();
  expect(readFileSync(called, 'utf8').trim().split('\n')).toEqual([
    ...['first drive', 'second compact', 'second stop', 'second start'],
  ]);
  expect(both.line({ name: 'deploy', request: {} })).toContain('first drive');
  expect(both.line({ name: 'compact' })).toContain('second compact');
  await both.close();
});

test('what neither offers is refused', async () => {
  const both = combinedControl(commands('first', ['drive'], {}), commands('second', ['compact'], {}));
  await both.info();
  await expect(both.stop()).rejects.toThrow(/no `stop` command/);
});
