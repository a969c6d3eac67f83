import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { poll } from '../../../harness/common/waiting.ts';
import { eventually } from '../../common/testing/scratch.ts';
import { simulatePlatform } from '../../platform/index.ts';
import { reportHtml } from '../report/report.ts';
import { exitCode } from '../result/result.ts';
import { cellsOf } from '../result/rollout-map.ts';
import type { FleetOptions } from './plan.ts';
import { runFleet } from './run.ts';
import { actionsOf, findGap, listOf, runAll, runOptionsIn, useFleets } from './testing/fleets.ts';

const fleets = useFleets();

describe('worker processes and shards', () => {
  const phases = `
  - { do: hold, for: 300ms, ping: 60/s, lists: 30/s }
  - { do: rollout, share: 50%, over: 200ms, arrivals: jitter }
  - { do: storm, share: 30%, over: 100ms }
  - { do: kill, share: 30%, over: 100ms, down: 50ms }
  - { do: stop, over: 100ms }`;
  const trace = async (options: Partial<FleetOptions>): Promise<Map<number, string[]>> => {
    await using fleet = fleets.create(phases, { trace: true, ...options });
    await runAll(fleet);
    expect(fleet.record.incomplete).toEqual([]);
    expect(fleet.record.violations).toEqual([]);
    return actionsOf(fleet);
  };

  it('carry out the same actions with 1 or 3 worker processes', async () => {
    const [one, three] = await Promise.all([trace({ workers: 1 }), trace({ workers: 3 })]);
    expect(one.size).toBe(12);
    expect([...one.values()].flat().length).toBeGreaterThan(12 * 3);
    expect(three).toEqual(one);
  });

  it('carry out the same actions as a whole or in 3 shards', async () => {
    const shards = [1, 2, 3].map((index) => trace({ shard: { index, count: 3 } }));
    const [whole, ...parts] = await Promise.all([trace({}), ...shards]);
    expect(whole.size).toBe(12);
    expect(new Map(parts.flatMap((part) => [...part]).toSorted(([a], [b]) => a - b))).toEqual(whole);
  });

  it('carry out other actions with another seed', async () => {
    const [one, other] = await Promise.all([trace({}), trace({ seed: 6 })]);
    expect(other).not.toEqual(one);
  });

  it('survive the kill of a worker: its robots restart on the same disk, and no stream loses an event', async () => {
    await using fleet = fleets.create(
      '  - { do: rollout, over: 100ms }\n  - { do: kill-worker, down: 50ms }\n  - { do: rollout, over: 100ms }',
      { workers: 2, robots: 8 },
    );
    await runAll(fleet);
    expect(fleet.record.incomplete).toEqual([]);
    expect(fleet.record.violations).toEqual([]);
    expect(fleet.record.missed).toEqual([]);
    expect((await fleet.measured()).metrics['rollout.ms']?.count).toBe(16);
  });
});

it('finds the one robot in five hundred whose stream has a gap', async () => {
  await using fleet = fleets.create('uplink: none\n', { robots: 500, platform: undefined });
  await findGap(fleet, 137);
});

describe('a worker process', () => {
  it('carries out the same actions as this process, and survives a kill', async () => {
    const phases = '  - { do: rollout, over: 50ms }\n  - { do: kill-worker, down: 50ms }\n  - { do: stop, over: 50ms }';
    const trace = async (workers: number): Promise<Map<number, string[]>> => {
      await using fleet = fleets.create(phases, { workers, robots: 3, trace: true });
      await runAll(fleet);
      expect(fleet.record.violations).toEqual([]);
      expect(fleet.record.incomplete).toEqual(
        workers === 0 ? ['there was no worker process to kill: use --workers 1 or more'] : [],
      );
      return actionsOf(fleet);
    };
    const [here, there] = await Promise.all([trace(0), trace(1)]);
    expect(here.size).toBe(3);
    expect(there).toEqual(here);
  });
});

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'muster-silent-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Process ids of the workers that this process has started. */
function workers(): number[] {
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').split(' ');
  return children.filter((pid) => pid !== '' && /worker\.[jt]s/.test(commandOf(pid))).map(Number);
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

/** How many robots serve. */
const sockets = (): number =>
  readdirSync(join(root, 'robots'), { recursive: true, withFileTypes: true }).filter((entry) => entry.isSocket())
    .length;

/** Runs 4 robots, and stops the first of their workers for good as soon as all of them serve. */
async function stopForGood(count: number, phases: string) {
  const scenario = `uplink: none\nphases:\n  - { do: ramp, over: 0s }\n${phases}`;
  const running = runFleet(runOptionsIn(root, scenario, { robots: 4, workers: count, silentMs: 4000 }));
  await eventually(() => expect(sockets()).toBe(4));
  expect(workers()).toHaveLength(count);
  process.kill(workers()[0] ?? 0, 'SIGSTOP');
  const result = await running;
  expect(workers()).toEqual([]);
  return result;
}

const LOST = /^worker 1 is lost: worker 1 \(process \d+\) ended: it gave no sign of life for 4 s$/;

it('ends incomplete, and names the worker, when one of two is stopped for good', async () => {
  const result = await stopForGood(2, '  - { do: hold, for: 2s }\n  - { do: hold, for: 2s }\n');
  expect(result.incomplete_reasons).toEqual([expect.stringMatching(LOST)]);
  expect(result.phases.map((phase) => phase.do)).toEqual(['ramp', 'hold', 'hold']);
  expect(exitCode(result)).toBe(2);
});

it('ends incomplete, and names the worker, when the only one is stopped for good', async () => {
  const result = await stopForGood(1, '  - { do: hold, for: 2s }\n  - { do: hold, for: 1h }\n');
  expect(result.incomplete_reasons).toEqual([expect.stringMatching(LOST)]);
  expect(exitCode(result)).toBe(2);
});

it('ends incomplete when the worker that it is to kill is stopped for good', async () => {
  const result = await stopForGood(
    1,
    '  - { do: hold, for: 1s }\n  - { do: kill-worker }\n  - { do: hold, for: 1h }\n',
  );
  expect(result.incomplete_reasons).toEqual([expect.stringMatching(LOST)]);
  expect(exitCode(result)).toBe(2);
});

it.each([0, 1])('an interrupt keeps the roll-out that it ends (%i workers)', { timeout: 200_000 }, async (workers) => {
  const root = mkdtempSync(join(tmpdir(), 'muster-interrupted-'));
  try {
    await using platform = await simulatePlatform({ seed: 1, minKeyBits: 1024 });
    const interrupt = new AbortController();
    const robots = 4;
    // So slow that the first arrives before the last was sent.
    const scenario = 'phases:\n  - { do: ramp, over: 0s }\n  - { do: rollout, over: 20s }\n';
    const options = { platform, robots, workers, signal: interrupt.signal };
    const run = runFleet(runOptionsIn(root, scenario, options));
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
    expect(result.phases.map(({ do: name, interrupted }) => [name, interrupted])).toEqual([
      ['ramp', undefined],
      ['rollout', true],
    ]);
    const cells = cellsOf(result.rollouts?.map ?? { bands: 1, column_ms: 1, cells: [] });
    const arrived = cells.filter(({ slowestMs }) => slowestMs > 0);
    expect(arrived.length).toBeGreaterThan(0);
    // One that is under way when it ends is neither late nor lost.
    expect(cells.filter(({ late, lost }) => late + lost > 0)).toEqual([]);
    expect(reportHtml(result)).toContain('roll-out, interrupted');
    const rows = readFileSync(join(root, 'out', 'rollouts.jsonl'), 'utf8')
      .trim()
      .split('\n');
    expect(rows).toHaveLength(arrived.reduce((sum, { attempts }) => sum + attempts, 0));
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
