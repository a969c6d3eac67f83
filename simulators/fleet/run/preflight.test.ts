import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import type { RobotCost } from './preflight.ts';
import { capacityLine, type Limits, machineLimits, preflight, sensibleWorkers } from './preflight.ts';

const cost: RobotCost = { descriptors: 4, memoryBytes: 50_000, ports: 1, diskBytes: 20_000, inodes: 6 };
const limits: Limits = {
  descriptors: 20_000,
  memoryBytes: 20e9,
  ports: 28_000,
  diskBytes: 1e12,
  inodes: 1e7,
  cores: 2,
};

describe('preflight', () => {
  it('says what the machine holds', () => {
    expect(preflight(1000, 1, cost, limits)).toEqual({
      capacity: { descriptors: 4150, memory: 338_993, ports: 23_800, disk: 1_416_666 },
      robots: 4150,
      contained: false,
      problems: [],
    });
  });

  it('names each resource that is too small, and what to change', () => {
    const { problems } = preflight(30_000, 2, cost, { ...limits, memoryBytes: 1e9, diskBytes: 1e8 });
    expect(problems).toEqual([
      "30,000 robots do not fit: descriptors of this machine hold 8,300; use --workers 8 or more, or raise 'ulimit -n' (now 20000 per process)",
      expect.stringMatching(/memory of this machine holds 14,986; .*--shard/),
      expect.stringMatching(/ports of this machine hold 23,800; .*--shard/),
      expect.stringMatching(/disk of this machine holds 4,250; free space/),
    ]);
  });

  it('includes the memory of the workers', () => {
    const { problems } = preflight(1000, 400, cost, limits);
    expect(problems).toEqual([expect.stringMatching(/memory of this machine holds 0; .*fewer --workers \(now 400\)/)]);
  });

  it('does not check limits that the system does not report', () => {
    const unknown = { ...limits, descriptors: 0, ports: 0 };
    expect(preflight(100_000, 1, cost, unknown).capacity).toMatchObject({
      descriptors: Number.POSITIVE_INFINITY,
      ports: Number.POSITIVE_INFINITY,
    });
  });

  it('proposes workers for the descriptors and the cores', () => {
    expect(sensibleWorkers(10, cost, limits, 500)).toBe(1);
    expect(sensibleWorkers(2000, cost, limits, 500)).toBe(2);
    expect(sensibleWorkers(20_000, cost, limits, 500)).toBe(5);
  });

  it('names the container whose limit is below what the machine has', () => {
    const MIB = 2 ** 20;
    const container = { limitBytes: 256 * MIB, freeBytes: 200 * MIB, kills: 0 };
    const here = machineLimits(tmpdir(), container, 1.5);
    expect(here).toMatchObject({ memoryBytes: 200 * MIB, containerBytes: 256 * MIB, cores: 1 });
    const checked = preflight(4000, 1, cost, { ...limits, memoryBytes: 200 * MIB, containerBytes: 256 * MIB });
    expect(checked.problems).toEqual([
      '4,000 robots do not fit: memory of this container (cgroup) holds 2,558; raise its limit (now 256 MiB), or spread the fleet with --shard',
    ]);
    expect(capacityLine(checked, 1, 4000)).toContain('2,558 (memory of this container (cgroup))');
    expect(machineLimits(tmpdir(), { ...container, freeBytes: 1e18 })).not.toHaveProperty('containerBytes');
    expect(machineLimits(tmpdir(), { ...container, freeBytes: 0 }).memoryBytes).toBe(1);
  });

  it('reads this machine', () => {
    const here = machineLimits(`${tmpdir()}/not/there/yet`);
    expect(here.diskBytes).toBeGreaterThan(0);
    expect(here.memoryBytes).toBeGreaterThan(0);
    expect(here.cores).toBeGreaterThan(0);
  });
});
