import { existsSync, readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished, test } from 'vitest';
import { useFolder } from '../../common/testing/scratch.ts';
import type { WorkerConfig } from '../worker/worker.ts';
import { startEmbeddedPlatform } from './embedded-platform.ts';
import { Workers } from './workers.ts';

const folder = useFolder();

const workersOf = (count: number, processes: boolean) => {
  const configs = Array.from(
    { length: count },
    (_, number): WorkerConfig => ({
      name: `worker ${number}`,
      members: [],
      robots: 0,
      seed: 1,
      scenario: { name: 'test', phases: [] },
      platform: undefined,
      keyBits: 1024,
      namePrefix: 'robot',
      stateDir: folder(),
      robotsDir: folder('r', String(number)),
      socketsDir: folder('s', String(number)),
    }),
  );
  return new Workers({ configs, processes, onNotice: () => {}, onLost: () => {} });
};

it('an abandoned worker ends between two tasks, and is not killed amid one', async () => {
  const { worker } = await workersOf(1, true).first();
  await worker.memory();
  await worker.stop('abandon');
  await expect(worker.memory()).rejects.toThrow(/ended: exit code 0$/);
});

it('workers start one by one, and none starts after a stop', async () => {
  const workers = workersOf(50, false);
  const started = (): number => (existsSync(folder('r')) ? readdirSync(folder('r')).length : 0);
  const starting = workers.start();
  while (started() === 0) await setImmediate();
  await workers.stop('abandon');
  await starting;
  expect(started()).toBeLessThan(50);
});

test('the platform of a fleet has a lower priority than its robots', async () => {
  const platform = await startEmbeddedPlatform(1);
  onTestFinished(() => platform.stop());
  expect(getPriority(platform.pid)).toBe(Math.min(getPriority() + 5, 19));
});
