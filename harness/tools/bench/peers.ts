/** Compares `muster fleet` with k6 and bare loops in Go and Node: requests per processor second, and lateness. */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir, loadavg } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { type Figure, inTurns, median } from '../measure/figure.ts';
import { cpuSecondsOfEnded } from '../measure/process.ts';
import { arrivalServer, type Load, latenessOf, openLoop } from './lateness.ts';

/** Requests per second, and the goal of requests per processor second as a multiple of the floor. */
const RATES = new Map([
  [5000, 1],
  [10_000, 1.3],
]);
const SECONDS = 10;
const IN_TIME_MS = 10;

interface Outcome {
  arrived: number;
  perCpuSecond: number;
  /** Share of requests in time; NaN if `arrived` differs from 1 by 0.0001 or more. */
  inTime: number;
  p99Ms: number;
}

export async function benchPeers(): Promise<Figure[]> {
  const tools: Record<string, Tool> = {
    fleet: { name: 'muster fleet', run: openLoop },
    ...(await builtPeers()),
    node: {
      name: 'bare Node loop',
      run: (load) => command(process.execPath, [join(FOLDER, 'open-loop.js'), ...wordsOf(load)]),
    },
  };
  const figures: Figure[] = [];
  for (const rate of RATES.keys()) {
    const measures = Object.entries(tools).map(([name, tool]) => [name, () => measured(tool, rate)]);
    const outcomes: Outcomes = await inTurns<string, Outcome>(3, Object.fromEntries(measures));
    for (const tool of Object.keys(tools)) figures.push(...figuresOf(tool, tools, rate, outcomes));
  }
  return figures;
}

type Outcomes = Record<string, readonly Outcome[]>;

function figuresOf(name: string, tools: Record<string, Tool>, rate: number, outcomes: Outcomes): Figure[] {
  const floorName = 'loop' in tools ? 'loop' : 'node';
  const [own = [], theirs = []] = [outcomes[name], outcomes[floorName]];
  const medianOf = (list: readonly Outcome[], field: keyof Outcome): number =>
    median(list.map((outcome) => outcome[field]));
  const at = `${tools[name]?.name}, ${rate.toLocaleString('en')}/s`;
  const ratio = median(
    own.map(({ perCpuSecond }, round) => perCpuSecond / (theirs[round]?.perCpuSecond ?? Number.NaN)),
  );
  const arrived = 100 * Math.min(...own.map((outcome) => outcome.arrived));
  const bareNode = Math.round(medianOf(outcomes['node'] ?? [], 'perCpuSecond')).toLocaleString('en');
  const p99 = medianOf(own, 'p99Ms');
  const late = Number.isNaN(p99) ? 'how late is unknown' : `p99 ${p99.toFixed(1)} ms late`;
  const told = `${arrived.toFixed(1)} % arrived, ${late}, load ${loadavg()[0]?.toFixed(1)}`;
  const judged = name === 'fleet';
  const times = RATES.get(rate) ?? 1;
  const [inTime, theirsInTime] = [medianOf(own, 'inTime'), medianOf(theirs, 'inTime')];
  return [
    {
      name: `peers: requests a CPU second, ${at}`,
      value: medianOf(own, 'perCpuSecond'),
      floor: medianOf(theirs, 'perCpuSecond'),
      ratio,
      goal: judged ? `≥ ${times} × ${tools[floorName]?.name}` : 'beside it',
      unit: '/s',
      met: !judged || ratio >= times,
      ...(judged && floorName !== 'node' && { why: `the bare Node loop: ${bareNode}/s` }),
    },
    {
      name: `peers: on the wire within ${IN_TIME_MS} ms, ${at}`,
      value: 100 * inTime,
      floor: 100 * theirsInTime,
      goal: `${judged ? '≥ floor, all arrived' : 'beside it'} (${told})`,
      unit: '%',
      met: !judged || (inTime >= theirsInTime && own.every((outcome) => outcome.arrived === 1)),
    },
  ];
}

async function measured(tool: Tool, rate: number): Promise<Outcome> {
  await using server = arrivalServer();
  const load: Load = { port: await server.call('listen', undefined), rate, seconds: SECONDS };
  const before = cpuSecondsOfEnded();
  await tool.run(load);
  const cpu = cpuSecondsOfEnded() - before;
  const arrivals = await server.call('arrivals');
  const arrived = arrivals.length / (rate * SECONDS);
  // Less than 0.01 % may be missing or surplus, because tools stop at slightly different moments.
  const late = Math.abs(arrived - 1) < 0.0001 ? latenessOf(arrivals.slice(rate * 2), rate) : [];
  return {
    arrived,
    perCpuSecond: arrivals.length / cpu,
    inTime: late.filter((ms) => ms <= IN_TIME_MS).length / late.length,
    p99Ms: late[Math.floor(0.99 * late.length)] ?? Number.NaN,
  };
}

const K6 = 'go.k6.io/k6@v1.8.1';
const CACHE = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'muster-bench', K6.replaceAll('/', '_'));
const FOLDER = join(import.meta.dirname, 'peers');

interface Tool {
  name: string;
  run(load: Load): Promise<unknown>;
}

const urlOf = ({ port }: Load): string => `http://127.0.0.1:${port}/beta/devices?limit=100&offset=0`;

const wordsOf = (load: Load): string[] => [urlOf(load), String(load.rate), String(load.rate * load.seconds)];

async function builtPeers(): Promise<Record<string, Tool>> {
  const bin = join(CACHE, 'bin');
  try {
    mkdirSync(bin, { recursive: true });
    await command('go', ['build', '-o', join(bin, 'open-loop'), join(FOLDER, 'open-loop.go')]);
    if (!existsSync(join(bin, 'k6'))) await command('go', ['install', K6], { GOBIN: bin });
  } catch (error) {
    process.stdout.write(`skipped: Go cannot build the peers: ${(error as Error).message}\n`);
    return {};
  }
  return {
    loop: { name: 'bare Go loop', run: (load) => command(join(bin, 'open-loop'), wordsOf(load)) },
    k6: {
      name: execFileSync(join(bin, 'k6'), ['version'], { encoding: 'utf8' }).split(' ').slice(0, 2).join(' '),
      run: (load) =>
        command(join(bin, 'k6'), ['run', '--quiet', '--no-usage-report', '--address', '', join(FOLDER, 'k6.js')], {
          URL: urlOf(load),
          RATE: String(load.rate),
          SECONDS: String(load.seconds),
          K6_NO_COLOR: 'true',
        }),
    },
  };
}

const command = (file: string, words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<unknown> =>
  promisify(execFile)(file, words, { env: { ...process.env, ...env } });
