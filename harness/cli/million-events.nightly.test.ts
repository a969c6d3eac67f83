import process from 'node:process';
import { expect, test, vi } from 'vitest';
import { keepingStatus, mostBytesIn } from './testing/memory.ts';
import { ask, Running, reportIn, typed, useFolder } from './testing/muster.ts';

vi.setConfig({ testTimeout: 1_200_000 });
const at = useFolder();
const EVENTS = 1_000_000;
const PORTION = 10_000;
const MOST_BYTES = 1024 * 2 ** 20;

test.skipIf(process.platform !== 'linux')('a check of a million events fails none, in less than 1 GiB', async () => {
  const [socket, control] = [at('a.sock'), at('c.sock')];
  const places = typed`--socket ${socket} --control ${control} --dir ${at('robot')}`;
  await using device = new Running(typed`simulate device ${places} --durability os --retain ${2 * EVENTS}`);
  await device.ready();
  for (let sent = 0; sent < EVENTS; sent += PORTION) {
    const { status } = await ask(control, '/events', 'POST', JSON.stringify({ count: PORTION }));
    expect(status).toBe(200);
  }
  const words = typed`check device --socket ${socket} --control ${control} --fast --report json=${at('report.json')}`;
  const { code, stderr } = await new Running(words, { env: keepingStatus(at('memory')) }).ended;
  const { checks } = reportIn(at('report.json'));
  expect(checks.filter(({ outcome }) => outcome === 'fail').map(({ id, actual }) => [id, actual])).toEqual([]);
  expect([0, 2], stderr).toContain(code);
  for (const status of [at('memory'), `/proc/${device.child.pid}/status`])
    expect(mostBytesIn(status)).toBeLessThan(MOST_BYTES);
});
