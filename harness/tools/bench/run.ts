/** `npm run bench`: every figure beside a floor from the same run. */
import process from 'node:process';
import type { Figure } from '../measure/figure.ts';
import { count, exitWithUsage, names, toolOptions } from '../options.ts';

interface Bench {
  summary: string;
  /** Takes minutes to half an hour, or most of the machine's memory: runs only when it is named. */
  long?: boolean;
  /** `robots`: number of robots, by default that of the goals. */
  run(robots?: number): Promise<Figure[]>;
}

const BENCHES: Record<string, Bench> = {
  device: {
    summary: 'appends, opening a log, delivery to 1,000 subscribers',
    run: async () => (await import('./device.ts')).benchDevice(),
  },
  platform: {
    summary: 'pages of a list of a million devices',
    run: async () => (await import('./platform.ts')).benchPlatform(),
  },
  broker: {
    summary: 'pings there and back per second',
    run: async () => (await import('./broker.ts')).benchBroker(),
  },
  fleet: {
    summary: 'memory of all processes with 10,000 robots, idle and connected: some minutes',
    run: async (robots) => (await import('./fleet.ts')).benchFleet(robots),
  },
  start: {
    summary: 'processor time until check device, simulate device and fleet do their work: half a minute',
    run: async () => (await import('./start.ts')).benchStart(),
  },
  watch: {
    summary: 'muster watch beside nginx and HAProxy, and the time that it adds (needs both, and wrk): two minutes',
    long: true,
    run: async () => (await import('./watch.ts')).benchWatch(),
  },
  lateness: {
    summary: "muster fleet's own lateness beside that on the wire, up to 20,000 requests per second: two minutes",
    run: async () => (await import('./lateness.ts')).benchLateness(),
  },
  'fleet.rollout': {
    summary: 'a roll-out to 10,000 connected robots, beside bare ends that do the same',
    run: async (robots) => (await import('./rollout.ts')).benchRollout(robots),
  },
  peers: {
    summary: 'muster fleet beside k6 and bare loops in Go and Node (Go builds the first two): six minutes',
    long: true,
    run: async () => (await import('./peers.ts')).benchPeers(),
  },
  'fleet.many': {
    summary: '100,000 idle robots: some minutes and several GB',
    long: true,
    run: async (robots) => (await import('./fleet.ts')).benchFleetMany(robots),
  },
};

/** Benches that take a number of robots. */
const SIZED = ['fleet', 'fleet.rollout', 'fleet.many'];
const USAGE = `npm run bench -- [options]

A figure whose name begins with \`muster\` is of the command as it is shipped, with all its processes. One that \
begins with \`inner\` calls
functions, of a part that no command shows alone.

${Object.entries(BENCHES)
  .map(([name, { summary, long }]) => `  ${(name + (long ? ' *' : '')).padEnd(18)}  ${summary}\n`)
  .join('')}`;
const { only, robots } = toolOptions(USAGE, {
  only: names('these, with commas between; without it all but those marked *, which take long', Object.keys(BENCHES)),
  robots: count(`instead of 10,000 (100,000 of fleet.many): of ${SIZED.join(', ')}`, undefined),
});
if (robots !== undefined && (only ?? []).every((name) => !SIZED.includes(name)))
  exitWithUsage(`--robots: needs --only with one of ${SIZED.join(', ')}`);

const number = (value = Number.NaN): string =>
  Number.isNaN(value) ? '–' : value >= 1000 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
const row = (name: string, numbers: readonly string[], ...rest: readonly string[]): void =>
  void process.stdout.write(
    `${[name.padEnd(58), ...numbers.map((cell) => cell.padStart(12))].join(' ')}  ${rest.join('  ')}\n`,
  );
row('figure', ['measured', 'floor', 'ratio'], 'unit, goal');
for (const [name, bench] of Object.entries(BENCHES)) {
  if (!(only?.includes(name) ?? bench.long !== true)) continue;
  for (const { name, value, floor, ratio, unit, goal, met, why } of await bench.run(robots)) {
    const numbers = [value, floor, ratio ?? (floor && value / floor)].map(number);
    row(name, numbers, `${unit}, ${goal}`, met ? 'reached' : `NOT reached${why ? `: ${why}` : ''}`);
  }
}
