/** Networks beside those of Linux: the same round trips over both take as long, beyond what the machine adds. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { random } from '../../common/random.ts';
import { scratch } from '../../common/testing/scratch.ts';
import { figuresOf, NETWORKS } from '../scenario/classes.ts';
import { type Network, RobotNetwork } from './network.ts';
import { type Case, NO_NETEM, overNetem } from './testing/netem.ts';
import { answering, roundTrips, type Work } from './testing/round-trips.ts';

/** How far off a figure may be: a share, or what two timers of a round trip may be, which count whole milliseconds. */
const APART = 0.05;
const TIMERS_MS = 1;
const allowed = (ms: number): number => Math.max(APART * ms, TIMERS_MS);
const FREE = { loss: 0, upBits: Number.POSITIVE_INFINITY, downBits: Number.POSITIVE_INFINITY };
const known = (name: string, change: Partial<Network> = {}): Network => ({
  ...figuresOf(NETWORKS[name] ?? { latency: '' }),
  ...change,
});
const small = (connections: number, rounds: number): Work => ({ connections, rounds, up: 200, down: 200 });
const large = (rounds: number, up: number, down: number): Work => ({ connections: 1, rounds, up, down });

/** With a rate, netem lets a packet that is late keep all others of the line back: jitter is tried without. */
const JITTERY: Record<string, Case> = {
  wifi: { network: known('wifi', FREE), work: small(2, 1000) },
  lte: { network: known('lte', FREE), work: small(6, 250) },
  edge: { network: known('edge', FREE), work: small(30, 12) },
  satellite: { network: known('satellite', FREE), work: small(30, 12) },
};
/** Long enough that TCP has found the rate of the line before the first that counts. */
const RATES: Record<string, Case> = {
  'fibre, to the robot': { network: known('fibre'), work: large(6, 100, 1_000_000) },
  'fibre, from the robot': { network: known('fibre'), work: large(3, 1_000_000, 100) },
  'edge, to the robot': { network: known('edge', { jitterMs: 0, loss: 0 }), work: large(3, 100, 100_000) },
};
/** Steady but for what is lost, so that what is late is known by it. */
const LOSSY: Case = { network: known('lte', { ...FREE, jitterMs: 0, loss: 0.05 }), work: small(8, 300) };
/** Where what the machine itself adds is seen: timers wait a millisecond at the least. */
const FLOOR: Case = { network: known('fibre', { ...FREE, latencyMs: 1 }), work: small(2, 100) };

/** Two ticks of that kernel, 100 a second: it rounds up the wait before it sends again, and the moment of its end. */
const TICKS_MS = 20;

const at = (times: readonly number[], share: number): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? Number.NaN;
const mean = (times: readonly number[]): number => times.reduce((sum, ms) => sum + ms, 0) / times.length;

interface Measured {
  /** What the machine adds to each round trip was taken off. */
  trips: number[];
  /** How much what it adds varies, milliseconds. */
  unsteady: number;
}

/** Of a case that stands between two floors. */
function measured(before: number[], trips: readonly number[], after: number[]): Measured {
  const floors = [before, after];
  const floor = mean(floors.map((times) => at(times, 0.5) - 2 * FLOOR.network.latencyMs));
  return {
    trips: trips.map((ms) => ms - floor),
    unsteady: Math.max(...floors.map((times) => at(times, 0.75) - at(times, 0.5))),
  };
}

async function overMuster({ network, work }: Case): Promise<Measured> {
  const server = await answering({ host: '127.0.0.1', port: 0 });
  const to = { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
  const of = (each: Case) => roundTrips(new RobotNetwork(each.network, random('netem')).dial, to, each.work);
  const result = measured(await of(FLOOR), await of({ network, work }), await of(FLOOR));
  server.close();
  await once(server, 'close');
  return result;
}

describe.skipIf(NO_NETEM !== '')(`beside netem${NO_NETEM}`, () => {
  const cases = [...Object.values(JITTERY), ...Object.values(RATES), LOSSY];
  let linux: Awaited<ReturnType<typeof overNetem>>;

  beforeAll(async () => {
    using folder = scratch();
    linux = await overNetem(folder.path, [FLOOR, ...cases.flatMap((each) => [each, FLOOR])]);
  });

  /** The times of both; the test is left out where the machine decides them. */
  async function both(context: TestContext, of: Case): Promise<[muster: number[], netem: number[]]> {
    if (linux === undefined) return context.skip('undecided: the machine is too busy for the kernel to come to an end');
    const index = 2 * cases.indexOf(of);
    const [before = [], trips = [], after = []] = linux.trips.slice(index, index + 3);
    const [muster, netem] = [await overMuster(of), measured(before, trips, after)];
    const unsteady = Math.max(muster.unsteady, netem.unsteady);
    const bound = allowed(at(netem.trips, 0.5));
    const busy = unsteady > bound || Math.abs(linux.second - 1) > 0.01;
    context.skip(busy, `undecided: the machine is too busy; it adds ± ${unsteady} ms where ${bound} are to be seen`);
    return [muster.trips, netem.trips];
  }

  it.for(Object.entries(JITTERY))('delays as long as it: %s', async ([, of], context) => {
    const [muster, netem] = await both(context, of);
    const figures = (times: readonly number[]) => [mean(times), at(times, 0.5), at(times, 0.9)] as const;
    const [ours, theirs] = [figures(muster), figures(netem)];
    for (const [index, ms] of theirs.entries())
      expect(Math.abs((ours[index] ?? 0) - ms), `${ours} and ${theirs}`).toBeLessThan(allowed(ms));
  });

  it.for(Object.entries(RATES))('carries as much as it: %s', async ([, of], context) => {
    const [muster, netem] = await both(context, of);
    // The machine can only add to what is the same each time.
    expect(Math.abs(at(muster, 0) / at(netem, 0) - 1), `${muster} and ${netem}`).toBeLessThan(APART);
  });

  it('loses as much as it, and sends it again as late', async (context) => {
    const [muster, netem] = await both(context, LOSSY);
    const late = (times: readonly number[]) => times.filter((ms) => ms > 2 * at(times, 0.5));
    const [ours, theirs] = [late(muster), late(netem)];
    // Each way is a draw: three standard deviations of a difference of two counts.
    const apart = 3 * Math.sqrt(ours.length + theirs.length);
    expect(Math.abs(ours.length - theirs.length), `${ours.length} and ${theirs.length}`).toBeLessThan(apart);
    // The machine can only add to what is as late each time.
    const [longer, than] = [at(ours, 0.1), at(theirs, 0.1) - TICKS_MS];
    expect(Math.abs(longer / than - 1), `${longer} and ${than}`).toBeLessThan(APART);
  });
});
