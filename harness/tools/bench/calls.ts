/**
 * Latencies of plain platforms as measured by `muster fleet --uplink calls`, beside a Go client with the same calls and
 * rates. Rounds take turns.
 */
import { execFile } from 'node:child_process';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  goProgram,
  LANGUAGES,
  type Language,
  PLATFORM_KEY,
  startPlainPlatform,
} from '../../../fixtures/servers/languages.ts';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { type Figure, inTurns, median } from '../measure/figure.ts';
import { fleetCommand } from './fleet.ts';

const ROBOTS = 2000;
const ROUNDS = 3;
const SECONDS = 10;
/** Calls a second, over the whole fleet. */
const RATES = { lists: 10, reads: 40, expands: 2, ping: 40 };
/** Resolution of the measurement: the turns of an event loop, in any language. */
const NEARLY_MS = 0.5;

interface Measured {
  count: number;
  p50: number;
  p99: number;
}
type Kind = 'http' | 'ping';
interface Outcome extends Record<Kind, Measured> {
  failed: number;
  verdict: string;
}

/** Takes six minutes. */
export async function benchCalls(robots = ROBOTS): Promise<Figure[]> {
  using folder = scratch();
  const client = goProgram('calls.go', join(folder.path, 'calls'), join(import.meta.dirname, 'peers'));
  const figures: Figure[] = [];
  for (const language of LANGUAGES.filter(({ missing }) => missing === undefined)) {
    const outcomes = await inTurns<'fleet' | 'go', Outcome>(ROUNDS, {
      fleet: () => against(language, folder.path, robots, (url) => byFleet(url, robots)),
      go: () => against(language, folder.path, robots, (url) => byGo(client, url, robots)),
    });
    figures.push(...figuresOf(language, robots, outcomes.fleet, outcomes.go));
  }
  return figures;
}

async function against<T>(language: Language, folder: string, devices: number, run: (url: string) => Promise<T>) {
  await using platform = await startPlainPlatform(language, folder, devices);
  return await run(platform.url);
}

async function byFleet(url: string, robots: number): Promise<Outcome> {
  const rates = Object.entries(RATES).map(([name, rate]) => `${name}: ${rate}/s`);
  const hold = `for: ${SECONDS}s, arrivals: constant, ${rates.join(', ')}`;
  const phases = `phases:\n  - { do: ramp, over: 2s, measure: false }\n  - { do: hold, ${hold} }\n`;
  const scenario = `name: calls\nuplink: calls\n${phases}`;
  const { metrics, counters, verdict } = await fleetCommand({ robots, platform: url, scenario, apiKey: PLATFORM_KEY });
  const of = (kind: Kind): Measured => metrics[`${kind}.target.ms`] ?? { count: 0, p50: Number.NaN, p99: Number.NaN };
  const failed = counters['http.errors'] ?? 0;
  return { http: of('http'), ping: of('ping'), failed, verdict };
}

async function byGo(program: string, url: string, robots: number): Promise<Outcome> {
  const words = [url, PLATFORM_KEY, robots, SECONDS, ...Object.values(RATES)].map(String);
  const { stdout } = await promisify(execFile)(program, words);
  const { http, ping } = JSON.parse(stdout) as Record<Kind, Measured & { failed: number }>;
  return { http, ping, failed: http.failed, verdict: '' };
}

function figuresOf(language: Language, robots: number, own: readonly Outcome[], theirs: readonly Outcome[]): Figure[] {
  const verdicts = own.map(({ verdict }) => verdict).join(', ');
  const failed = own.reduce((sum, outcome) => sum + outcome.failed, 0);
  const told = `${verdicts}; ${failed} failed; load ${loadavg()[0]?.toFixed(1)}`;
  const sound = failed === 0 && own.every(({ verdict }) => verdict === 'valid');
  const middle = (outcomes: readonly Outcome[], kind: Kind, field: keyof Measured): number =>
    median(outcomes.map((outcome) => outcome[kind][field]));
  const where = `calls: ${robots.toLocaleString('en')} robots, platform in ${language.name}`;
  const count = middle(own, 'http', 'count');
  const asked = middle(theirs, 'http', 'count');
  const times = (['http', 'ping'] as const).flatMap((kind) =>
    (['p50', 'p99'] as const).map((percentile): Figure => {
      const [value, floor] = [middle(own, kind, percentile), middle(theirs, kind, percentile)];
      const near = Math.abs(value - floor) <= Math.max(0.1 * floor, NEARLY_MS);
      const goal = `within 10 % or ${NEARLY_MS} ms of Go's (${told})`;
      return { name: `${where}: ${kind} ${percentile}`, value, floor, goal, unit: 'ms', met: sound && near };
    }),
  );
  return [
    {
      name: `${where}: answers`,
      value: count,
      floor: asked,
      goal: 'as many as Go got, within 1 %',
      unit: 'requests',
      met: sound && Math.abs(count - asked) <= 0.01 * asked,
    },
    ...times,
  ];
}
