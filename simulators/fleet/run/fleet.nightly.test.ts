import { readdirSync, readFileSync } from 'node:fs';
import { expect, it, onTestFinished, vi } from 'vitest';
import { poll } from '../../../harness/common/waiting.ts';
import { eventually, useFolder } from '../../common/testing/scratch.ts';
import { simulatePlatform } from '../../platform/index.ts';
import { readText } from '../measure/saturation.ts';
import { reportHtml } from '../report/report.ts';
import { exitCode } from '../result/result.ts';
import type { FleetOptions } from './fleet.ts';
import { Progress } from './progress.ts';
import { runFleet } from './run.ts';
import { listOf, runAll, runOptionsIn, useFleets } from './testing/fleets.ts';

const fleets = useFleets();

it('a fleet rolls out the same with workers or shards as without, but differs by seed', async () => {
  const rollouts = async (options: Partial<FleetOptions>): Promise<string[]> => {
    const phases = '  - { do: rollout, share: 50%, over: 200ms }\n  - { do: rollout, over: 100ms, arrivals: jitter }\n';
    await using fleet = fleets.create(phases, options);
    await runAll(fleet);
    expect(fleet.record.incomplete).toEqual([]);
    const rows = fleet.record.phases.flatMap((phase) => phase.rollouts);
    return rows.map(({ robot, phase, at_ms }) => `${robot} ${phase} ${at_ms.toFixed(3)}`).toSorted();
  };
  const shards = [1, 2, 3].map((index) => rollouts({ shard: { index, count: 3 } }));
  const [here, one, three, other, ...parts] = await Promise.all([
    rollouts({}),
    rollouts({ workers: 1 }),
    rollouts({ workers: 3 }),
    rollouts({ seed: 6 }),
    ...shards,
  ]);
  expect(here).toHaveLength(6 + 12);
  expect([one, three, parts.flat().toSorted()]).toEqual([here, here, here]);
  expect(other).not.toEqual(here);
});

const folder = useFolder();

function workers(): number[] {
  const children = readText(`/proc/${process.pid}/task/${process.pid}/children`) ?? '';
  const isWorker = (pid: string): boolean => /worker-process\.[jt]s/.test(readText(`/proc/${pid}/cmdline`) ?? '');
  return children.split(' ').filter(isWorker).map(Number);
}

const sockets = (): number =>
  readdirSync(folder('robots'), { recursive: true, withFileTypes: true }).filter((entry) => entry.isSocket()).length;

it.each([
  ['one of two is', 2, '{ do: hold, for: 2s }\n  - { do: hold, for: 2s }', ['ramp', 'hold', 'hold']],
  ['the only one is', 1, '{ do: hold, for: 2s }\n  - { do: hold, for: 1h }', expect.any(Array)],
])('a run ends incomplete, and names the worker, when %s stopped for good', async (_which, count, phases, ended) => {
  const scenario = `uplink: none\nphases:\n  - { do: ramp, over: 0s }\n  - ${phases}\n`;
  const told = vi.spyOn(Progress.prototype, 'add');
  onTestFinished(() => void vi.restoreAllMocks());
  const running = runFleet(runOptionsIn(folder(), scenario, { robots: 4, workers: count, silentMs: 4000 }));
  await eventually(() => expect(sockets()).toBe(4));
  expect(workers()).toHaveLength(count);
  await eventually(() => {
    const [progress] = told.mock.contexts as Progress[];
    expect(progress?.times('start.ms')?.totalCount).toBe(4);
  });
  process.kill(workers()[0] ?? 0, 'SIGSTOP');
  const result = await running;
  expect(workers()).toEqual([]);
  const lost = /^worker 1 is lost: worker 1 \(process \d+\) ended: it gave no sign of life for 4 s$/;
  expect(result.incomplete_reasons).toEqual([expect.stringMatching(lost)]);
  expect(result.phases.map((phase) => phase.do)).toEqual(ended);
  expect(result.metrics['start.ms']?.count).toBe(4);
  expect(exitCode(result)).toBe(2);
});

it.each([
  ['without workers', 0, {}],
  ['with a worker', 1, {}],
  ['of a soak', 0, { soak: { forMs: 600_000, everyMs: 600_000 } }],
])('an interrupt keeps the roll-out %s that it ends', { timeout: 200_000 }, async (_, workers, change) => {
  await using platform = await simulatePlatform({ seed: 1, minKeyBits: 1024 });
  const interrupt = new AbortController();
  const robots = 4;
  // Spreads the POSTs, so that the first roll-out arrives before the last POST.
  const scenario = 'phases:\n  - { do: ramp, over: 0s }\n  - { do: rollout, over: 20s }\n';
  const options = { platform, robots, workers, signal: interrupt.signal, ...change };
  const run = runFleet(runOptionsIn(folder(), scenario, options));
  await poll(
    'a robot that was reached',
    async () => {
      const found = await listOf<{ activity_status: string }>(platform, '/deployments?activity_status=deployed');
      return found.some(({ activity_status }) => activity_status === 'deployed') || undefined;
    },
    { timeoutMs: 150_000 },
  );
  interrupt.abort(new Error('interrupted'));
  const result = await run;
  const phases = result.phases.map(({ do: name, interrupted = false }) => `${name} ${interrupted}`);
  expect(phases).toEqual(['ramp false', 'rollout true']);
  expect(result.rollouts.missed).toEqual([]);
  expect(reportHtml(result)).toContain('roll-out, interrupted');
  const rows = readFileSync(folder('out', 'rollouts.jsonl'), 'utf8').trim().split('\n');
  expect(rows).toHaveLength(result.metrics['rollout.ms']?.count ?? 0);
  expect(rows[0]).toMatch(/"total_ms":\d/);
});
