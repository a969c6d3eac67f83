import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, expect, test } from 'vitest';
import { CostSampler, growth, type RunProcess, usageOf } from './costs.ts';

const MIB = 2 ** 20;
const HELD = `
const held = [];
process.on('message', (mebibytes) => {
  held.push(Buffer.alloc(mebibytes * ${MIB}, 1));
  process.send('held');
});
process.send('up');
`;
const [parent, worker] = [await spawned(), await spawned()];
afterAll(() => {
  for (const child of [parent, worker]) child.kill('SIGKILL');
});

async function spawned(): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['-e', HELD], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  await once(child, 'message');
  return child;
}

/** Leaves out the test's own process, whose memory changes with other tests. */
const processesOf = (): RunProcess[] => [
  { pid: parent.pid ?? 0, role: 'parent' },
  { pid: worker.pid ?? 0, role: 'workers' },
];

test('the costs of a run are listed by role of process and per robot', async () => {
  await using sampler = new CostSampler();
  let robots = 0;
  const processes = processesOf();
  expect(sampler.costs).toBeUndefined();
  sampler.start({ processes: () => processes, online: () => robots });
  await sampler.ramp(async () => {
    for (const online of [10, 20, 30]) {
      const held = once(worker, 'message');
      worker.send(40);
      await held;
      robots = online;
      await sampler.look();
    }
  });
  const before = sampler.costs?.parts.workers;
  processes.pop();
  robots = 0;
  await sampler.look();
  const costs = sampler.costs;
  const { parent, workers, whole, platform } = costs?.parts ?? {};
  expect(costs?.robots).toBe(30);
  expect(platform).toBeUndefined();
  expect(workers).toMatchObject({ processes: 1, end_bytes: 0, cpu_seconds: before?.cpu_seconds });
  expect(before?.cpu_seconds).toBeGreaterThan(0);
  expect(workers?.peak_bytes).toBeGreaterThan(120 * MIB);
  expect(workers?.robot_marginal_bytes).toBeGreaterThan(3 * MIB);
  expect(workers?.robot_marginal_bytes).toBeLessThan(5 * MIB);
  expect(whole?.processes).toBe(2);
  expect(whole?.peak_bytes).toBeGreaterThan(workers?.peak_bytes ?? 0);
  expect(whole?.robot_whole_bytes).toBe(Math.round((whole?.peak_bytes ?? 0) / 30));
  expect(whole?.end_bytes).toBe(parent?.end_bytes);
});

test('a sample during which the run ended is discarded', async () => {
  await using sampler = new CostSampler();
  const processes = processesOf();
  sampler.start({ processes: () => processes, online: () => 1 });
  await sampler.look();
  const before = sampler.costs;
  processes.pop();
  const looking = sampler.look();
  // Lets the sampler start its second sample, which `end` must discard.
  await Promise.resolve();
  sampler.end();
  await looking;
  await sampler.look();
  expect(sampler.costs).toEqual(before);
});

test('a robot costs the slope over the ramp, without the first point', () => {
  const points = (bytes: Record<number, number>) =>
    Object.entries(bytes).map(([at, held]) => [Number(at), held] as const);
  expect(growth(points({ 0: 1000, 10: 5000, 20: 5100, 30: 5200 }))).toBe(10);
  expect(growth(points({ 0: 1000, 100: 2000 }))).toBe(10);
  expect(growth([...points({ 5: 1000 }), ...points({ 5: 2000 })])).toBeNull();
  expect(growth([])).toBeNull();
});

test('a missing process is left out', async () => {
  expect(await usageOf([2 ** 22 + 1])).toEqual(new Map());
});
