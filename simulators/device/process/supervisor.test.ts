import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, onTestFinished, test, vi } from 'vitest';
import { poll } from '../../../harness/common/waiting.ts';
import { firstMessage } from '../../common/testing/requests.ts';
import { readText } from '../../fleet/measure/saturation.ts';
import { scratch } from '../testing/robot.ts';
import { DeviceConsole } from './device-console.ts';
import { SupervisedDevice } from './supervisor.ts';

const MARK = 'MUSTER_TEST_MARK';

/** Ids of child processes that carry `mark`, because tests in other threads start child processes too. */
const children = (mark: string): string[] =>
  readdirSync('/proc/self/task')
    .flatMap((task) => readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean))
    // A child that has just ended has no environment.
    .filter((pid) => readText(`/proc/${pid}/environ`)?.includes(`${MARK}=${mark}`));

test.runIf(existsSync('/proc/self/task'))(
  'an agent restarts in a process preloaded at its stop, and leaves none behind',
  async () => {
    using home = scratch();
    const mark = randomUUID();
    vi.stubEnv(MARK, mark);
    onTestFinished(() => void vi.unstubAllEnvs());
    const place = { dir: `${home.path}/robot`, socket: `${home.path}/agent.sock` };
    const device = new SupervisedDevice({ device: place, logLevel: 'silent' });
    await device.start();
    expect(children(mark)).toEqual([String(device.pid)]);
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await device.stop(signal);
      const waiting = children(mark);
      await device.start();
      expect(waiting).toContain(String(device.pid));
    }
    await device[Symbol.asyncDispose]();
    await poll('the spare processes to end', () => children(mark).length === 0 || undefined, { timeoutMs: 10_000 });
  },
);

test('a console shows the address of the latest agent, and no retention that the agent does not tell', async () => {
  using home = scratch();
  const loopback = { discovery: `${home.path}/discovery.json` };
  const settings = { device: { dir: `${home.path}/robot`, loopback }, logLevel: 'silent' };
  await using page = new DeviceConsole(settings, []);
  const changed = { ...settings, variants: ['retains-6-untold'] };
  await using device = new SupervisedDevice(changed, { onChange: page.changed });
  await device.start();
  const console = await page.serve(device, 0);
  await device.stop();
  await device.start();
  const text = await firstMessage(`${console}events`);
  expect(text).toContain(`"url":"${device.ready?.['url']}"`);
  expect(text).toContain('"retention":null');
});
