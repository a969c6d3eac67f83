import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../common/testing/eventually.ts';
import { type SimulatedPlatform, simulatePlatform } from '../../platform/index.ts';
import type { TracedAction } from '../host/host.ts';
import { startFleet } from '../index.ts';
import { PlatformClient } from '../platform/client.ts';
import { parseScenario } from '../scenario/scenario-file.ts';
import { Fleet } from './fleet.ts';
import type { FleetOptions } from './options.ts';

let platform: SimulatedPlatform;
let state: string;
let dir: string;
beforeAll(async () => {
  state = mkdtempSync(join(tmpdir(), 'muster-keys-'));
  platform = await simulatePlatform({ seed: 1, minKeyBits: 1024 });
});
afterAll(async () => {
  await platform.stop();
  rmSync(state, { recursive: true, force: true });
});
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'muster-ft-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

let fleets = 0;
const fleetWith = (yaml: string, options: Partial<FleetOptions> = {}): Fleet => {
  fleets += 1;
  return new Fleet({
    robots: 12,
    platform,
    scenario: parseScenario(`name: test\nphases:\n  - { do: ramp, over: 0s }\n${yaml}`, 'test.yaml'),
    workers: 0,
    seed: 5,
    keyBits: 1024,
    stateDir: state,
    dir,
    namePrefix: `fleet-${fleets}`,
    ...options,
  });
};
const runAll = async (fleet: Fleet): Promise<void> => {
  await fleet.prepare();
  for (const phase of fleet.options.scenario.phases) await fleet.run(phase);
  await fleet.finish();
};

const currentOf = (socketPath: string): Promise<{ status: string; release_id: string }> =>
  new Promise((resolve, reject) => {
    request({ socketPath, path: '/v0.2/deployments/current' }, (answer) => {
      let text = '';
      answer.on('data', (bytes) => {
        text += bytes;
      });
      answer.on('end', () => resolve(JSON.parse(text)));
    })
      .on('error', reject)
      .end();
  });

describe('a fleet as a library', () => {
  it('comes online, is rolled out to, and leaves nothing', async () => {
    const seen: string[] = [];
    const fleet = await startFleet({
      robots: 10,
      platform,
      namePrefix: 'library',
      keyBits: 1024,
      stateDir: state,
      onProgress: ({ stage, done }) => seen.push(`${stage} ${done}`),
    });
    const { latencies, missed, summary, rows } = await fleet.rollout({ content: '{"speed":2}' });
    expect(latencies).toHaveLength(10);
    expect(missed).toEqual([]);
    expect(summary).toMatchObject({ count: 10, unit: 'ms' });
    expect(await currentOf(fleet.robotSocket(3))).toMatchObject({ status: 'deployed' });
    for (const row of rows) {
      const legs = [row.command_ms, row.sync_ms, row.write_ms, row.event_ms].map(Number);
      expect(legs.every((ms) => ms >= 0)).toBe(true);
      expect(legs.reduce((sum, ms) => sum + ms, 0)).toBeCloseTo(Number(row.total_ms), 3);
      expect(row.report_ms).not.toBeNull();
    }
    expect(await fleet.verify()).toEqual([]);
    const socket = fleet.robotSocket(0);
    expect(seen).toContain('online 10');
    await Promise.all([fleet.stop(), fleet.stop()]);
    expect(existsSync(socket)).toBe(false);
  });

  it('rejects, and leaves nothing, when the platform refuses its robots', async () => {
    const before = readdirSync(tmpdir());
    const wrong = { ...platform, apiKey: 'wrong key' };
    await expect(startFleet({ robots: 2, platform: wrong, keyBits: 1024 })).rejects.toThrow(
      /^2 of 2 robots did not come online: start of robot-00000\d: HTTP 401 .*\(POST \/provisioning_tokens\)/,
    );
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('muster-keys-') && !before.includes(name))).toEqual(
      [],
    );
  });

  it('can be given up while it starts', async () => {
    const stop = new AbortController();
    const starting = startFleet({
      robots: 3,
      platform,
      over: '1h',
      keyBits: 1024,
      stateDir: state,
      signal: stop.signal,
      onProgress: ({ stage }) => stage === 'online' && stop.abort(new Error('enough')),
    });
    await expect(starting).rejects.toThrow('enough');
  });
});

describe('a scenario', () => {
  it('is carried out without a violation, through storms, kills, partitions and skewed clocks', async () => {
    await using fleet = fleetWith(`
  - { do: rollout, share: 50%, over: 100ms }
  - { do: storm, over: 100ms }
  - { do: clock-skew, share: 50%, by: -1h }
  - { do: kill, share: 50%, over: 100ms, down: 100ms }
  - { do: partition, share: 25%, for: 200ms }
  - { do: rollout, over: 200ms }
  - { do: stop, over: 100ms }`);
    await runAll(fleet);
    const { counters, metrics } = await fleet.measured();
    expect(fleet.record.violations).toEqual([]);
    expect(fleet.record.missed).toEqual([]);
    expect(fleet.record.phases.map(({ actions }) => actions)).toEqual([12, 6, 12, 6, 6, 3, 12, 12]);
    expect(counters).toMatchObject({ 'rollout.attempts': 18, 'rollout.missed': 0 });
    expect(metrics['rollout.ms']?.count).toBe(18);
    expect(metrics['reconnect.ms']?.count).toBe(12 + 6 + 3);
  });

  it('pings and lists at its rate, warm-up excluded', async () => {
    await using fleet = fleetWith(`
  - { do: hold, for: 200ms, ping: 100/s, lists: 50/s, arrivals: constant, measure: false }
  - { do: hold, for: 400ms, ping: 100/s, lists: 50/s, arrivals: constant }`);
    await runAll(fleet);
    const { counters, metrics, measured_seconds } = await fleet.measured();
    expect(counters).toMatchObject({ 'ping.attempts': 40, 'http.attempts': 20, 'ping.errors': 0, 'http.errors': 0 });
    expect(metrics['ping.ms']?.count).toBe(40);
    expect(metrics['schedule.lateness.ms']?.count).toBe(12 + 60);
    expect(measured_seconds).toBeLessThan(fleet.record.elapsedMs / 1000);
    // Seconds are kept although nobody listens to them.
    expect(fleet.record.progress.series.at(-1)).toMatchObject({ phase: 'finishing' });
  });

  it.each(['agent', 'polling'])(
    'is the same devices again in another run with the same keys and names (%s)',
    async (uplink) => {
      const client = new PlatformClient(platform);
      const devices = async (): Promise<number> =>
        (await client.listDevices(100, 0)) + (await client.listDevices(100, 100));
      const before = await devices();
      try {
        for (const shards of [1, 2]) {
          for (let index = 1; index <= shards; index += 1) {
            const shard = { index, count: shards };
            await using fleet = fleetWith(`uplink: ${uplink}\n`, { robots: 6, namePrefix: `again-${uplink}`, shard });
            await runAll(fleet);
            expect(fleet.record.notStarted).toBe(0);
          }
        }
        expect(await devices()).toBe(before + 6);
      } finally {
        await client.close();
      }
    },
  );

  it('rolls out over a polling uplink, which uses the public API alone', async () => {
    await using fleet = fleetWith('  - { do: rollout, over: 100ms }\nuplink: polling\npoll_every: 100ms\n', {
      robots: 4,
    });
    await runAll(fleet);
    expect(fleet.record.missed).toEqual([]);
    const { metrics } = await fleet.measured();
    expect(metrics['rollout.ms']?.count).toBe(4);
    // Nobody tells the platform, so nothing is claimed about it.
    expect(metrics['rollout.report.ms']).toBeUndefined();
    expect(fleet.record.phases.at(-1)?.rollouts.map(({ report_ms }) => report_ms)).toEqual([null, null, null, null]);
  });

  it('names robots that read no event of their roll-out in time', async () => {
    await using fleet = fleetWith('  - { do: rollout, over: 10ms, within: 200ms }\nuplink: polling\npoll_every: 1h\n', {
      robots: 2,
    });
    await runAll(fleet);
    expect(fleet.record.missed.sort()).toEqual([fleet.layout.robotName(0), fleet.layout.robotName(1)]);
    expect((await fleet.measured()).counters['rollout.missed']).toBe(2);
  });

  it('finds the one robot of five hundred whose stream has a gap, and names it and the ids', async () => {
    await using fleet = fleetWith('uplink: none\n', { robots: 500, platform: undefined });
    await fleet.prepare();
    await fleet.run({ do: 'ramp', over: '0s' });
    const path = fleet.layout.robotSocket(137);
    rmSync(path);
    const impostor = createServer((socket) => {
      const frame = (id: number) => `id: ${id}\nevent: a.b\ndata: {"id":${id}}\n\n`;
      socket.on('error', () => {});
      socket.once('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\n\r\n${frame(1)}${frame(2)}${frame(5)}`);
      });
    }).listen(path);
    try {
      await fleet.run({ do: 'storm', over: '0s' });
      await eventually(() => expect(fleet.record.violations).not.toEqual([]));
      await fleet.finish();
      expect(fleet.record.violations).toEqual([
        {
          robot: 137,
          name: fleet.layout.robotName(137),
          kind: 'gap',
          message: 'ids 3 to 4 missing within a connection: after id 2 came id 5',
        },
      ]);
      expect((await fleet.measured()).counters['subscriber.violations']).toBe(1);
    } finally {
      await fleet.stop('abandon');
      impostor.close();
    }
  });
});

describe('worker processes and shards', () => {
  /** What each robot did, as one fleet or as the sum of its shards. */
  const actionsOf = async (workers: number, shards = 1, seed = 5): Promise<Map<number, string[]>> => {
    const parts = Array.from({ length: shards }, (_, index) =>
      actionsOfShard(workers, { index: index + 1, count: shards }, seed),
    );
    return new Map((await Promise.all(parts)).flat().toSorted(([a], [b]) => a - b));
  };
  const actionsOfShard = async (
    workers: number,
    shard: { index: number; count: number },
    seed: number,
  ): Promise<[number, string[]][]> => {
    const yaml = `
  - { do: hold, for: 300ms, ping: 60/s, lists: 30/s }
  - { do: rollout, share: 50%, over: 200ms, arrivals: jitter }
  - { do: storm, share: 30%, over: 100ms }
  - { do: kill, share: 30%, over: 100ms, down: 50ms }
  - { do: stop, over: 100ms }`;
    const place = mkdtempSync(join(dir, 'w-'));
    await using fleet = fleetWith(yaml, { workers, shard, seed, trace: true, dir: place });
    await runAll(fleet);
    expect(fleet.record.incomplete).toEqual([]);
    expect(fleet.record.violations).toEqual([]);
    const of = (action: TracedAction): string => `${action.phase} ${action.kind} ${action.at_ms.toFixed(6)}`;
    return fleet.layout.members.map((robot) => [
      robot,
      fleet.record.phases.flatMap(({ trace }) => trace.filter((action) => action.robot === robot).map(of)),
    ]);
  };

  it('carry out the same sequence of actions for each robot, be it 1 or 3', async () => {
    const [one, three] = await Promise.all([actionsOf(1), actionsOf(3)]);
    expect(one.size).toBe(12);
    expect([...one.values()].flat().length).toBeGreaterThan(12 * 3);
    expect(three).toEqual(one);
  });

  it('carry out the same sequence of actions for each robot, be it one shard or three', async () => {
    const [whole, shards] = await Promise.all([actionsOf(0), actionsOf(0, 3)]);
    expect(whole.size).toBe(12);
    expect(shards).toEqual(whole);
  });

  it('carry out another sequence with another seed', async () => {
    const [one, other] = await Promise.all([actionsOf(0), actionsOf(0, 1, 6)]);
    expect(other).not.toEqual(one);
  });

  it('may be killed: the robots come back on the same disk, and nothing of their streams is lost', async () => {
    await using fleet = fleetWith(
      '  - { do: rollout, over: 100ms }\n  - { do: kill-worker, down: 50ms }\n  - { do: rollout, over: 100ms }',
      {
        workers: 2,
        robots: 8,
      },
    );
    await runAll(fleet);
    expect(fleet.record.incomplete).toEqual([]);
    expect(fleet.record.violations).toEqual([]);
    expect(fleet.record.missed).toEqual([]);
    expect((await fleet.measured()).metrics['rollout.ms']?.count).toBe(16);
  });
});

describe('a shard', () => {
  it('hosts its exact part of the same fleet', async () => {
    await using fleet = fleetWith('', { robots: 10, shard: { index: 2, count: 4 }, platform: undefined });
    expect(fleet.layout.members).toEqual([1, 5, 9]);
    expect(fleet.layout.robotName(5)).toMatch(/-000005$/);
    expect(() => fleet.layout.robotSocket(0)).toThrow(/not in this shard/);
  });
});
