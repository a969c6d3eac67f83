/** What a fleet costs and how fast it is, each beside a floor or an absolute goal. */
import { availableParallelism } from 'node:os';
import { descriptorLimit } from '../../../simulators/fleet/measure/saturation.ts';
import { startEmbeddedPlatform } from '../../../simulators/fleet/processes/embedded-platform.ts';
import { Fleet } from '../../../simulators/fleet/run/fleet.ts';
import type { Phase, Scenario } from '../../../simulators/fleet/scenario/scenario.ts';
import { atMost, type Figure, inScratch, KIB } from './figure.ts';
import { fleetCommand, partsOf } from './fleet-command.ts';
import { type RobotKind, weighRobots } from './fleet-memory.ts';
import { inProcess, openLoop } from './fleet-process.ts';

/** The warm-up of a measurement needs descriptors too. */
const ROBOTS = Math.min(10_000, descriptorLimit() - 2500);
const UNCONNECTED = 'name: bench\nuplink: none\nsubscribers: 0\n';
/** Slightly more deployments than a robot keeps a record of. */
const REMEMBERED = 70;

const IDLE: RobotKind = { name: 'an idle robot', connected: false, goals: { whole: 28, marginal: 8 } };
const CONNECTED: RobotKind = {
  name: 'a robot with a live MQTT uplink and a subscriber',
  connected: true,
  goals: { whole: 64, marginal: 40 },
};

/** Some minutes, most of them bringing robots up. */
export async function benchFleet(count = ROBOTS): Promise<Figure[]> {
  const sockets = await inProcess({ count });
  const idle = await inScratch((dir) =>
    fleetCommand(dir, { robots: count, scenario: `${UNCONNECTED}phases:\n  - { do: ramp, over: 0s }\n` }),
  );
  const load = await openLoop(20_000, 8000);
  return [
    atMost(
      `muster fleet: start of ${count.toLocaleString('en')} idle robots`,
      idle.start_ms / 1000,
      3,
      's',
      sockets.startMs / 1000,
    ),
    ...(await weighRobots(IDLE, count, sockets.bytesEach)),
    ...(await weighRobots(CONNECTED, count)),
    {
      // What a user gets of it is the figure `lateness`.
      name: 'inner: scheduler alone, p99 lateness at 20,000 requests/s on one core',
      value: load.lateness.p99,
      goal: `< 5 ms (used ${load.cpu.toFixed(2)} cores, waited ${Math.round(load.waited * 100)} % of the time for one, ${load.answered} of ${load.started} answered)`,
      unit: 'ms',
      met: load.lateness.p99 < 5 && load.answered === load.started,
    },
  ];
}

/** A minute or two, most of it making keys. */
export async function benchFleetRollout(count = 10_000): Promise<Figure[]> {
  const phases = `  - { do: ramp, over: ${Math.ceil(count / 400)}s }\n  - { do: rollout, over: 0s, within: 120s }\n`;
  const scenario = `name: bench\nkey_bits: 1024\nphases:\n${phases}`;
  const result = await inScratch((dir) => fleetCommand(dir, { robots: count, platform: 'embedded', scenario }));
  const missed = result.counters['rollout.missed'] ?? 0;
  const last = missed > 0 ? Number.POSITIVE_INFINITY : (result.metrics['rollout.ms']?.max ?? Number.NaN) / 1000;
  const seconds = partsOf(result, (part) => part.cpu_seconds, 's');
  const took = (result.phases.find((phase) => phase.do === 'rollout')?.duration_ms ?? 0) / 1000;
  return [
    {
      name: `muster fleet: roll-out to ${count.toLocaleString('en')} connected robots, first POST to last event`,
      value: last,
      goal: `≤ 8 s (${missed} missed, ${result.violations.length} violations, ${took.toFixed(1)} s until all were reported)`,
      unit: 's',
      met: last <= 8 && result.violations.length === 0,
      ...(seconds !== undefined && {
        why: `processor time of the whole run: ${seconds}, on ${availableParallelism()} cores`,
      }),
    },
  ];
}

/** Some minutes and several GB. */
export async function benchFleetMany(count = 100_000): Promise<Figure[]> {
  const workers = Math.ceil((count * 1.4) / (descriptorLimit() * 0.85));
  const scenario = `${UNCONNECTED}phases:\n  - { do: ramp, over: 0s }\n`;
  const result = await inScratch((dir) => fleetCommand(dir, { robots: count, workers, scenario }));
  const started = result.metrics['start.ms']?.count ?? 0;
  const each = (result.costs?.parts.whole.robot_whole_bytes ?? Number.NaN) / KIB;
  return [
    {
      name: `muster fleet: idle robots on this machine, over ${workers} workers`,
      value: started,
      goal: `${count.toLocaleString('en')} (started in ${(result.start_ms / 1000).toFixed(1)} s, ${each.toFixed(1)} KiB each over all processes)`,
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
        name: `inner: fleet as a library, growth of resident memory over ${minutes} minutes, ${count.toLocaleString('en')} robots`,
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
