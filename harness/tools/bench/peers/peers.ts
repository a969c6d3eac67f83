/**
 * Muster's fleet beside other open-loop load generators: how many requests each sends with a second of processor time, its start
 * included, and how late they are on the wire. Rounds take turns, and ratios are of one round.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import process from 'node:process';
import { type Figure, median } from '../figure.ts';
import { arrivalsOf, latenessOf } from '../lateness.ts';
import { cpuSecondsOfEnded } from '../processor.ts';
import { built, type Load, muster, node, type Tool } from './tools.ts';

const RATES = [5000, 10_000];
const SECONDS = 10;
const ROUNDS = 3;
/** Milliseconds after the intended moment within which a request counts as sent in time. */
const IN_TIME_MS = 10;
/** A tool may take the end of its time for one request more or less. */
const NEARLY_ALL = 0.0001;
/** The first seconds show how a tool warms up. */
const WARM_UP_S = 2;

interface Outcome {
  /** Share of the requests that arrived. */
  arrived: number;
  perCpuSecond: number;
  /** Share of those after the warm-up; NaN where some never arrived, since arrivals have no numbers. */
  inTime: number;
  p99Ms: number;
}

/** Six minutes, and some more when k6 is built for the first time. */
export async function benchPeers(): Promise<Figure[]> {
  const others = await built();
  if (typeof others === 'string') process.stdout.write(`skipped: ${others}\n`);
  const tools = typeof others === 'string' ? [muster, node] : [muster, others.loop, others.k6, node];
  const figures: Figure[] = [];
  for (const rate of RATES) {
    const outcomes = new Map<Tool, Outcome[]>(tools.map((tool) => [tool, []]));
    for (let round = 0; round < ROUNDS; round += 1)
      for (const [tool, of] of outcomes) of.push(await measured(tool, rate));
    const floor = typeof others === 'string' ? node : others.loop;
    figures.push(...tools.flatMap((tool) => figuresOf(tool, floor, rate, outcomes)));
  }
  return figures;
}

function figuresOf(tool: Tool, floor: Tool, rate: number, outcomes: ReadonlyMap<Tool, readonly Outcome[]>): Figure[] {
  const [own, theirs] = [outcomes.get(tool) ?? [], outcomes.get(floor) ?? []];
  const of = (list: readonly Outcome[], field: keyof Outcome): number => median(list.map((outcome) => outcome[field]));
  const at = `${tool.name}, ${rate.toLocaleString('en')}/s`;
  const ratio = median(
    own.map(({ perCpuSecond }, round) => perCpuSecond / (theirs[round]?.perCpuSecond ?? Number.NaN)),
  );
  const rounded = (value: number): string => Math.round(value).toLocaleString('en');
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  const p99 = of(own, 'p99Ms');
  const late = Number.isNaN(p99) ? 'how late is unknown' : `p99 ${p99.toFixed(1)} ms late`;
  const told = `${percent(Math.min(...own.map(({ arrived }) => arrived)))} arrived, ${late}, load ${loadavg()[0]?.toFixed(1)}`;
  const judged = tool === muster;
  return [
    {
      name: `peers: requests a CPU second, ${at}`,
      value: of(own, 'perCpuSecond'),
      floor: of(theirs, 'perCpuSecond'),
      ratio,
      goal: judged ? `≥ 1 × ${floor.name}` : 'beside it',
      unit: '/s',
      met: !judged || ratio >= 1,
      ...(judged &&
        floor !== node && { why: `the bare Node loop: ${rounded(of(outcomes.get(node) ?? [], 'perCpuSecond'))}/s` }),
    },
    {
      name: `peers: on the wire within ${IN_TIME_MS} ms, ${at}`,
      value: 100 * of(own, 'inTime'),
      floor: 100 * of(theirs, 'inTime'),
      goal: `${judged ? '≥ 99 %, all arrived' : 'beside it'} (${told})`,
      unit: '%',
      met: !judged || (of(own, 'inTime') >= 0.99 && own.every(({ arrived }) => arrived === 1)),
    },
  ];
}

/** Runs the tool against a server that records arrivals. */
async function measured(tool: Tool, rate: number): Promise<Outcome> {
  const server = fork(new URL('../lateness-server.ts', import.meta.url));
  try {
    const [{ port }] = (await once(server, 'message')) as [{ port: number }];
    const load: Load = { port, rate, seconds: SECONDS };
    const before = cpuSecondsOfEnded();
    await tool.run(load);
    const cpu = cpuSecondsOfEnded() - before;
    const arrivals = await arrivalsOf(server);
    const arrived = arrivals.length / (rate * SECONDS);
    const late = Math.abs(arrived - 1) < NEARLY_ALL ? latenessOf(arrivals.slice(rate * WARM_UP_S), rate) : [];
    return {
      arrived,
      perCpuSecond: arrivals.length / cpu,
      inTime: late.filter((ms) => ms <= IN_TIME_MS).length / late.length,
      p99Ms: late[Math.floor(0.99 * late.length)] ?? Number.NaN,
    };
  } finally {
    server.kill();
    await once(server, 'exit');
  }
}
