/** Measures how processor time grows with robots, devices, events, recorded requests and checks. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import process from 'node:process';
import { simulateDevice } from '../../../simulators/device/index.ts';
import { simulatePlatform } from '../../../simulators/platform/index.ts';
import { watchSuite } from '../../cli/watching/suite.ts';
import { DEPLOYMENT } from '../../contract/client.ts';
import { NEWEST_VERSION } from '../../contract/versions.ts';
import { declared, run } from '../../runner/testing/checks.ts';
import { TrafficJudge } from '../../watch/judging.ts';
import { type Figure, timesFloor } from '../measure/figure.ts';
import { cpuSeconds, cpuSecondsOfEnded, serveTask, Task } from '../measure/process.ts';
import { fleetCommand, UNCONNECTED } from './fleet.ts';

/** Units of work at 1 ×. */
const KINDS = {
  robots: [100, 'idle robots of a fleet'],
  devices: [1000, 'devices of a platform, seeded and listed in pages of 100'],
  events: [300, 'events of a device, published and replayed'],
  requests: [300, 'requests of a recorded history, judged'],
  checks: [20, 'checks of a run, none of which asks anything'],
} as const;
type Kind = keyof typeof KINDS;

export async function benchGrowth(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const kind of Object.keys(KINDS) as Kind[]) {
    await using task = new Task<typeof tasks>(import.meta.url);
    const [base, name] = KINDS[kind];
    // The first call compiles the code. Smaller amounts are repeated, because one run of them is too short to measure.
    await task.call('measure', kind, 10 * base, 2);
    const at = async (times: number, runs: number): Promise<number> =>
      1e6 * (await task.call('measure', kind, times * base, runs));
    const [one, ten, hundred] = [await at(1, 5), await at(10, 5), await at(100, 1)];
    const figure = timesFloor(
      `growth: ${name}: each at 100 ×, floor at 10 ×`,
      hundred,
      ten,
      1.3,
      'µs of processor time',
    );
    figures.push({ ...figure, goal: `${figure.goal} (${one.toPrecision(3)} at 1 ×, of ${base})` });
  }
  return figures;
}

const works: Record<Kind, (count: number) => Promise<unknown>> = {
  robots: (robots) => fleetCommand({ robots, scenario: `${UNCONNECTED}phases:\n  - { do: ramp, over: 0s }\n` }),

  devices: async (devices) => {
    const platform = await simulatePlatform({ devices, seed: 1, mqtt: false });
    const headers = { 'x-api-key': platform.apiKey, 'service-version': NEWEST_VERSION };
    for (let offset = 0; offset < devices; offset += 100)
      await (await fetch(`${platform.url}/devices?limit=100&offset=${offset}`, { headers })).text();
    await platform.stop();
  },

  events: async (count) => {
    await using device = await simulateDevice({ retain: count, durability: 'os', heartbeatMs: 600_000 });
    for (let published = 0; published < count; published += 10) await device.publish(10);
    const options = { socketPath: device.socketPath, path: '/v0.2/events', headers: { 'last-event-id': '0' } };
    const [stream] = (await once(get(options), 'response')) as [IncomingMessage];
    let end = '';
    for await (const bytes of stream) {
      end = (end + bytes).slice(-2000);
      if (end.includes(`id: ${count}\n`)) return;
    }
    throw new Error(`the stream ended before event ${count}: ${end}`);
  },

  requests: async (count) => {
    const { checks } = await watchSuite('device', 'unix');
    const place = { base: '/v0.2', origin: 'http://localhost', variable: 'KEY' };
    const judge = new TrafficJudge({ checks, place, found: () => {} });
    const text = JSON.stringify(DEPLOYMENT);
    const headers = [['Content-Type', 'application/json']] as const;
    judge.take({ kind: 'opened', at: 0, connection: 1 });
    for (let exchange = 1; exchange <= count; exchange += 1) {
      const step = { at: exchange, exchange };
      const target = '/v0.2/deployments/current';
      judge.take({ ...step, kind: 'request', connection: 1, method: 'GET', target, headers: [['Host', 'localhost']] });
      judge.take({ ...step, kind: 'asked' });
      judge.take({ ...step, kind: 'response', status: 200, headers });
      judge.take({ ...step, kind: 'over', ended: 'whole', body: { text, size: text.length } });
    }
    return judge.judged();
  },

  checks: (count) => run(Array.from({ length: count }, (_, index) => declared(`bench.check${index}`))),
};

const tasks = {
  /** Processor seconds per unit of work. */
  measure: async (kind: Kind, count: number, runs: number): Promise<number> => {
    const before = cpuSeconds([process.pid]) + cpuSecondsOfEnded();
    for (let done = 0; done < runs; done += 1) await works[kind](count);
    return (cpuSeconds([process.pid]) + cpuSecondsOfEnded() - before) / runs / count;
  },
};

if (import.meta.main) serveTask(tasks);
