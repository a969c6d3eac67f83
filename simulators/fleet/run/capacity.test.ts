import { type StatsFs, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import {
  capacityLine,
  isInMemory,
  type Limits,
  machineLimits,
  memoryLine,
  memoryOf,
  preflight,
  type RobotCost,
  robotCost,
  sensibleWorkers,
} from './capacity.ts';

const cost: RobotCost = {
  descriptors: 4,
  memoryBytes: 40_000,
  platformBytes: 0,
  ports: 1,
  diskBytes: 20_000,
  memoryDiskBytes: 10_000,
  inodes: 6,
};
const processes = (workers: number) => ({ workers, platform: false, filesInMemory: true });
const limits: Limits = {
  descriptors: 20_000,
  memoryBytes: 20e9,
  ports: 28_000,
  diskBytes: 1e12,
  inodes: 1e7,
  cores: 2,
};

it('preflight reports the number of robots that each resource holds, except where the system reports no limit', () => {
  expect(preflight(1000, processes(1), cost, limits)).toEqual({
    capacity: { descriptors: 4150, memory: 336_267, ports: 23_800, disk: 1_416_666 },
    contained: false,
    problems: [],
  });
  const unknown = { ...limits, descriptors: Number.POSITIVE_INFINITY, ports: Number.POSITIVE_INFINITY };
  expect(preflight(100_000, processes(1), cost, unknown).capacity).toMatchObject({
    descriptors: Number.POSITIVE_INFINITY,
    ports: Number.POSITIVE_INFINITY,
  });
});

it('preflight names each resource that is too small, with its remedy', () => {
  const { problems } = preflight(30_000, processes(2), cost, { ...limits, memoryBytes: 1e9, diskBytes: 1e8 });
  expect(problems).toEqual([
    '30,000 robots do not fit: descriptors of this machine hold 8,300; ' +
      "use --workers 8 or more, or raise 'ulimit -n' (now 20000 per process)",
    expect.stringMatching(/memory of this machine holds 11,463; .*--shard/),
    expect.stringMatching(/ports of this machine hold 23,800; .*--shard/),
    expect.stringMatching(/disk of this machine holds 4,250; free space/),
  ]);
  expect(preflight(1000, processes(400), cost, limits).problems).toEqual([
    expect.stringMatching(/memory of this machine holds 0; .*fewer --workers \(now 400\)/),
  ]);
});

it('preflight proposes workers for the descriptors and the cores', () => {
  const workers = [10, 2001, 20_000].map((robots) => sensibleWorkers(robots, { ...cost, platformBytes: 1 }, limits));
  expect(workers).toEqual([1, 2, 5]);
});

it('preflight names a container with a limit below the memory of the machine', () => {
  const MIB = 2 ** 20;
  const container = { limitBytes: 512 * MIB, freeBytes: 400 * MIB, kills: 0 };
  const contained = { memoryBytes: 400 * MIB, containerBytes: 512 * MIB };
  expect(machineLimits(tmpdir(), container)).toMatchObject(contained);
  const checked = preflight(4000, processes(1), cost, { ...limits, ...contained });
  expect(checked.problems).toEqual([
    '4,000 robots do not fit: memory of this container (cgroup) holds 3,397; ' +
      'raise its limit (now 512 MiB), or spread the fleet with --shard',
  ]);
  expect(capacityLine(checked, 1, 4000)).toContain('3,397 (memory of this container (cgroup))');
  expect(machineLimits(tmpdir(), { ...container, freeBytes: 1e18 })).not.toHaveProperty('containerBytes');
  expect(machineLimits(tmpdir(), { ...container, freeBytes: 0 }).memoryBytes).toBe(0);
});

it.each<[name: string, robots: number, Partial<StatsFs>]>([
  ['without a free block', 0, { bavail: 0 }],
  ['without a free inode', 0, { ffree: 0 }],
  ['that counts no inodes', 85, { files: 0, ffree: 0 }],
  ['that counts no blocks', 85, { blocks: 0, bavail: 0 }],
])('preflight a disk %s holds %i robots', (_name, robots, change) => {
  const usual = { blocks: 1000, bavail: 500, bsize: 4000, files: 900, ffree: 600 };
  const found = machineLimits(tmpdir(), undefined, { ...statfsSync(tmpdir()), ...usual, ...change });
  expect(preflight(1, processes(1), cost, found).capacity.disk).toBe(robots);
});

it('preflight lists the expected memory by role of process, and the cost of one more robot', () => {
  const embedded = { workers: 2, platform: true, filesInMemory: true };
  expect(memoryLine(5000, robotCost({}), embedded)).toBe(
    'preflight: about 920 MiB of memory (parent 92, workers 439, platform 252, files in memory 137): ' +
      'one more robot 105.0 KiB',
  );
  const idle = { workers: 0, platform: false, filesInMemory: false };
  expect(memoryLine(100, robotCost({ uplink: 'none', subscribers: 0 }), idle)).toBe(
    'preflight: about 93 MiB of memory (parent 93): one more robot 7.0 KiB',
  );
  expect(memoryOf(10, robotCost({}), { ...embedded, started: true }).whole).toBe(10 * (49 + 28 + 28) * 1024);
  expect(typeof isInMemory(tmpdir())).toBe('boolean');
});

// Last column: measured memory in MiB (PSS) on two cores.
it.each([
  ['500 connected', 500, {}, 1, 331],
  ['2,500 connected, 100 a second', 2500, {}, 1, 558],
  ['5,000 connected, two workers', 5000, {}, 2, 776],
  ['2,500 idle', 2500, { uplink: 'none', subscribers: 0 }, 1, 170],
  ['10,000 idle', 10_000, { uplink: 'none', subscribers: 0 }, 1, 251],
] as const)('preflight expects the measured memory of %s', (_name, robots, scenario, workers, mebibytes) => {
  const { whole } = memoryOf(robots, robotCost(scenario), { workers, platform: true, filesInMemory: false });
  expect(whole / 2 ** 20 / mebibytes).toBeGreaterThan(0.85);
  expect(whole / 2 ** 20 / mebibytes).toBeLessThan(1.25);
});
