/** What a fleet costs and how fast it is, each beside a floor or an absolute goal. */
import { tmpdir } from 'node:os';
import { descriptorLimit } from '../../../simulators/fleet/measure/saturation.ts';
import { startEmbeddedPlatform } from '../../../simulators/fleet/processes/embedded-platform.ts';
import { Fleet } from '../../../simulators/fleet/run/fleet.ts';
import type { Phase, Scenario } from '../../../simulators/fleet/scenario/scenario.ts';
import { atMost, type Figure, inScratch, KIB } from './figure.ts';
import { inProcess, type Measured, openLoop } from './fleet-process.ts';

/** The warm-up of a measurement needs descriptors too. */
const ROBOTS = Math.min(10_000, descriptorLimit() - 2500);
const UPLINK_ROBOTS = 2000;
/** Slightly more deployments than a robot keeps a record of. */
const REMEMBERED = 70;

/** About a minute. */
export async function benchFleet(): Promise<Figure[]> {
  const [sockets, robots] = [
    await inProcess({ kind: 'sockets', count: ROBOTS }),
    await inProcess({ kind: 'robots', count: ROBOTS }),
  ];
  const load = await openLoop(20_000, 8000);
  return [
    atMost(
      `fleet: start of ${ROBOTS.toLocaleString('en')} robots in one process`,
      robots.startMs / 1000,
      3,
      's',
      sockets.startMs / 1000,
    ),
    memory('fleet: memory of an idle robot', robots, sockets, 16),
    ...(await benchUplinkMemory(sockets)),
    {
      name: 'fleet: open-loop requests, p99 lateness at 20,000/s on one core',
      value: load.lateness.p99,
      goal: `< 5 ms (used ${load.cpu.toFixed(2)} cores, waited ${Math.round(load.waited * 100)} % of the time for one, ${load.answered} of ${load.started} answered)`,
      unit: 'ms',
      met: load.lateness.p99 < 5 && load.answered === load.started,
    },
  ];
}

async function benchUplinkMemory(floor: Measured): Promise<Figure[]> {
  return withPlatform(async ({ address }, stateDir) => {
    const robots = await inProcess({ kind: 'robots', count: UPLINK_ROBOTS, platform: address, stateDir });
    return [memory('fleet: memory of a robot with a live MQTT uplink', robots, floor, 40)];
  });
}

/** A minute or two, most of it making keys. */
export async function benchFleetRollout(count = 10_000): Promise<Figure[]> {
  return withPlatform(async ({ address }, stateDir) => {
    await using fleet = new Fleet({
      ...basics,
      robots: count,
      platform: address,
      workers: 3,
      stateDir,
      scenario: scenarioOf({ subscribers: 1, uplink: 'agent' }),
    });
    await fleet.prepare();
    await fleet.run({ do: 'ramp', over: `${Math.ceil(count / 400)}s` });
    const { durationMs, missed, rollouts } = await fleet.run({ do: 'rollout', over: '0s', within: '120s' });
    const times = rollouts.map(({ total_ms }) => total_ms ?? Number.POSITIVE_INFINITY);
    const last = Math.max(...times) / 1000;
    await fleet.finish();
    return [
      {
        name: `fleet: roll-out to ${count.toLocaleString('en')} connected robots, first POST to last event`,
        value: last,
        goal: `≤ 15 s (${missed.length} missed, ${fleet.record.violations.length} violations, ${(durationMs / 1000).toFixed(1)} s until all were reported)`,
        unit: 's',
        met: last <= 15 && missed.length === 0 && fleet.record.violations.length === 0,
      },
    ];
  });
}

/** Some minutes and several GB. */
export async function benchFleetMany(count = 100_000): Promise<Figure[]> {
  const workers = Math.ceil((count * 1.1) / (descriptorLimit() * 0.85));
  await using fleet = new Fleet({
    ...basics,
    robots: count,
    platform: undefined,
    workers,
    stateDir: tmpdir(),
    scenario: scenarioOf({ subscribers: 0, uplink: 'none' }),
  });
  await fleet.prepare();
  await fleet.run({ do: 'ramp', over: '0s' });
  const { metrics } = await fleet.measured();
  const started = metrics['start.ms']?.count ?? 0;
  return [
    {
      name: `fleet: idle robots on this machine, over ${workers} processes`,
      value: started,
      goal: `${count.toLocaleString('en')} (started in ${(fleet.record.startMs / 1000).toFixed(1)} s, ${(fleet.record.rssBytesPerRobot / KIB).toFixed(1)} KiB each)`,
      unit: 'robots',
      met: started === count,
    },
  ];
}

/** Half an hour: resident memory of a fleet under everyday load must not grow. */
export async function benchFleetSoak(minutes = 30, count = 1000): Promise<Figure[]> {
  return withPlatform(async ({ address }, stateDir) => {
    await using fleet = new Fleet({
      ...basics,
      robots: count,
      platform: address,
      workers: 1,
      stateDir,
      scenario: scenarioOf({ subscribers: 1, uplink: 'agent' }),
    });
    await fleet.prepare();
    await fleet.run({ do: 'ramp', over: '10s' });
    // Robots remember this many deployments; until they do, each roll-out adds one to each robot.
    for (let filled = 0; filled < REMEMBERED; filled += 1) await fleet.run({ do: 'rollout', over: '1s' });
    const soaked = fleet.record.elapsedMs;
    const minute: Phase[] = [
      { do: 'rollout', over: '20s', share: '50%', ping: '20/s', lists: '10/s' },
      { do: 'hold', for: '40s', ping: '20/s', lists: '10/s' },
    ];
    for (let at = 0; at < minutes; at += 1) for (const phase of minute) await fleet.run(phase);
    const { slope, error } = trend(
      fleet.record.progress.series
        .map(({ at_ms, rss_bytes }) => [(at_ms - soaked) / 60_000, rss_bytes / 2 ** 20] as const)
        .filter(([at]) => at > minutes / 6),
    );
    return [
      {
        name: `fleet: growth of resident memory over ${minutes} minutes, ${count.toLocaleString('en')} robots`,
        value: slope,
        floor: error,
        goal: 'within three standard errors of 0 (the floor), or under 0.1 MiB a minute',
        unit: 'MiB/min',
        met: slope <= Math.max(3 * error, 0.1) && fleet.record.violations.length === 0,
      },
    ];
  });
}

const basics = { seed: 1, keyBits: 1024 };
const scenarioOf = (fields: Pick<Scenario, 'subscribers' | 'uplink'>): Scenario => ({
  name: 'bench',
  phases: [{ do: 'ramp', over: '0s' }],
  ...fields,
});

const memory = (name: string, measured: Measured, floor: Measured, limitKib: number): Figure =>
  atMost(name, measured.bytesEach / KIB, limitKib, 'KiB', floor.bytesEach / KIB);

/** Least squares; `error` is the standard error of the slope. */
function trend(points: readonly (readonly [number, number])[]): { slope: number; error: number } {
  const n = points.length;
  const mean = (of: (point: readonly [number, number]) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / n;
  const [x, y] = [mean(([at]) => at), mean(([, value]) => value)];
  const spread = points.reduce((sum, [at]) => sum + (at - x) ** 2, 0);
  const slope = points.reduce((sum, [at, value]) => sum + (at - x) * (value - y), 0) / spread;
  const rest = points.reduce((sum, [at, value]) => sum + (value - y - slope * (at - x)) ** 2, 0);
  return { slope, error: Math.sqrt(rest / (n - 2) / spread) };
}

async function withPlatform(
  measure: (platform: Awaited<ReturnType<typeof startEmbeddedPlatform>>, stateDir: string) => Promise<Figure[]>,
): Promise<Figure[]> {
  return await inScratch(async (stateDir) => {
    const platform = await startEmbeddedPlatform(1);
    try {
      return await measure(platform, stateDir);
    } finally {
      await platform.stop();
    }
  });
}
