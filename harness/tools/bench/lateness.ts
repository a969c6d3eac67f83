/** Is a request sent when Muster says that it was? Its own lateness beside the lateness that the target sees on the wire. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import type { FleetResult } from '../../../simulators/fleet/result/result.ts';
import { type Figure, inScratch } from './figure.ts';
import { runFleet } from './fleet-command.ts';

const RATES = [1000, 5000, 10_000, 20_000];
const WARM_UP_S = 2;
const MEASURED_S = 6;
const STALL_MS = 500;
/** What the two may differ by: a share of the wire's figure, or milliseconds. */
const TOLERANCE = { share: 0.1, ms: 2 };

interface Seen {
  result: FleetResult;
  /** Milliseconds from due to arrived, ascending, of the measured requests. */
  wire: number[];
}

/** About two minutes. */
export async function benchLateness(rates: readonly number[] = RATES): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const rate of rates) {
    for (const stalls of [false, true])
      figures.push(...figuresOf(rate, stalls, await inScratch((dir) => run(dir, rate, stalls))));
  }
  return figures;
}

function figuresOf(rate: number, stalls: boolean, { result, wire }: Seen): Figure[] {
  const own = result.metrics['schedule.lateness.ms'];
  const where = `${rate.toLocaleString('en')}/s${stalls ? `, target stands still for ${STALL_MS} ms` : ''}`;
  const wanted = rate * MEASURED_S;
  return ([50, 99] as const).map((percent) => {
    const told = (percent === 50 ? own?.p50 : own?.p99) ?? Number.NaN;
    const seen = wire[Math.min(wire.length - 1, Math.floor((percent / 100) * wire.length))] ?? Number.NaN;
    const allowed = Math.max(TOLERANCE.ms, TOLERANCE.share * seen);
    return {
      name: `lateness: p${percent} at ${where}`,
      value: told,
      floor: seen,
      ratio: told / seen,
      goal: `within 10 % or 2 ms of the wire (${wire.length} of ${wanted} arrived, verdict ${result.verdict}, load ${loadavg()[0]?.toFixed(1)})`,
      unit: 'ms',
      met: wire.length === wanted && Math.abs(told - seen) <= allowed,
    };
  });
}

/** Runs the command against a server that records arrivals. */
async function run(dir: string, rate: number, stalls: boolean): Promise<Seen> {
  const warmUp = rate * WARM_UP_S;
  const stallAt = stalls ? warmUp + (rate * MEASURED_S) / 2 : -1;
  const server = fork(new URL('./lateness-server.ts', import.meta.url), [String(stallAt), String(STALL_MS)]);
  try {
    const [{ port }] = (await once(server, 'message')) as [{ port: number }];
    const result = await fleet(dir, rate, port);
    return { result, wire: latenessOf((await arrivalsOf(server)).slice(warmUp), rate) };
  } finally {
    server.kill();
  }
}

/**
 * Milliseconds from due to arrived, ascending, of arrivals that were due at an even rate. No clock is shared with who sent them, so the
 * promptest counts as on time.
 */
export function latenessOf(arrivals: readonly number[], rate: number): number[] {
  const slot = 1000 / rate;
  const early = arrivals.reduce((least, at, number) => Math.min(least, at - number * slot), Number.POSITIVE_INFINITY);
  return arrivals.map((at, number) => at - number * slot - early).sort((a, b) => a - b);
}

/** What a server of this bench has recorded, in order. */
export async function arrivalsOf(server: ChildProcess): Promise<number[]> {
  server.send('arrivals');
  const [{ arrivals }] = (await once(server, 'message')) as [{ arrivals: number[] }];
  return arrivals;
}

function fleet(dir: string, rate: number, port: number): Promise<FleetResult> {
  const hold = (seconds: number, measured: boolean): string =>
    `  - { do: hold, for: ${seconds}s, lists: ${rate}/s, arrivals: constant, measure: ${measured} }\n`;
  const scenario = `name: lateness\nuplink: polling\npoll_every: 1h\nsubscribers: 0\nphases:\n  - { do: ramp, over: 1s, measure: false }\n${hold(WARM_UP_S, false)}${hold(MEASURED_S, true)}`;
  return runFleet(dir, { robots: 10, port, scenario });
}
