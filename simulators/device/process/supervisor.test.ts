import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { poll } from '../../../harness/common/waiting.ts';
import { scratch } from '../testing/robot.ts';
import { SupervisedDevice } from './supervisor.ts';

const children = (): string[] =>
  readdirSync('/proc/self/task').flatMap((task) =>
    readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  );

test.runIf(existsSync('/proc/self/task'))(
  'an agent restarts in a process preloaded at its stop, and leaves none behind',
  async () => {
    using home = scratch();
    const before = children();
    const place = { dir: `${home.path}/robot`, socket: `${home.path}/agent.sock` };
    const device = new SupervisedDevice({ device: place, logLevel: 'silent' });
    await device.start();
    expect(children().length).toBe(before.length + 1);
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await device.stop(signal);
      const waiting = children();
      await device.start();
      expect(waiting).toContain(String(device.pid));
    }
    await device[Symbol.asyncDispose]();
    await poll('the spare processes to end', () => children().length === before.length || undefined, {
      timeoutMs: 10_000,
    });
  },
);
