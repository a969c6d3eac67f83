import { describe, expect, it } from 'vitest';
import type { FleetOptions } from './options.ts';
import { actionsOf, findGap, runAll, useFleets } from './testing/fleets.ts';

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
