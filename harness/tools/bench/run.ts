/** `npm run bench`: every figure beside the floor that the same run measured. */
import process from 'node:process';
import type { Figure } from '../measure/figure.ts';
import { countOf, namesOf, refuse, toolOptions } from '../options.ts';

interface Bench {
  summary: string;
  /** Minutes to half an hour, or most of the machine's memory: runs only when it is named. */
  long?: boolean;
  /** `robots`: instead of as many as the goals are for. */
  run(robots?: number): Promise<Figure[]>;
}

const BENCHES: Record<string, Bench> = {
  device: {
    summary: 'appends, opening a log, delivery to 1,000 subscribers, 10,000 idle devices',
    run: async () => (await import('./device.ts')).benchDevice(),
  },
  platform: {
    summary: 'pages of a list of a million devices',
    run: async () => (await import('./platform.ts')).benchPlatform(),
  },
  uplink: {
    summary: 'memory of uplinks and of the broker, pings per second',
    run: async () => (await import('./uplink.ts')).benchUplink(),
  },
  fleet: {
    summary: 'memory of all processes with 10,000 robots, idle and connected; their start: some minutes',
    run: async (robots) => (await import('./fleet.ts')).benchFleet(robots),
  },
  start: {
    summary: 'processor time until check device, simulate device and fleet do their work: half a minute',
    run: async () => (await import('./start.ts')).benchStart(),
  },
  lateness: {
    summary: "muster fleet's own lateness beside that on the wire, up to 20,000 requests per second: two minutes",
    run: async () => (await import('./lateness.ts')).benchLateness(),
  },
  'fleet.rollout': {
    summary: 'a roll-out to 10,000 connected robots',
    run: async (robots) => (await import('./fleet.ts')).benchFleetRollout(robots),
  },
  console: {
    summary: 'the page and the report of 10,000 robots in a browser, and what the page costs a fleet: four minutes',
    run: async () => (await import('./console.ts')).benchConsole(),
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

/** Those that take a number of robots. */
const SIZED = ['fleet', 'fleet.rollout', 'fleet.many'];
const HELP = `npm run bench -- [options]
  --only NAME,NAME…   these; without it all but those marked *, which take long
  --robots N          instead of 10,000 (100,000 of fleet.many): of ${SIZED.join(', ')}

A figure whose name begins with \`muster\` is of the command as it is shipped, with all its processes. One that begins with \`inner\` calls
functions, of a part that no command shows alone.

${Object.entries(BENCHES)
  .map(([name, { summary, long }]) => `  ${(name + (long ? ' *' : '')).padEnd(18)}  ${summary}\n`)
  .join('')}`;
const values = toolOptions(HELP, { only: { type: 'string' }, robots: { type: 'string' } });
const robots = values.robots === undefined ? undefined : countOf('robots', values.robots, HELP);
const only = namesOf('only', values.only, Object.keys(BENCHES), HELP);
if (robots !== undefined && (only ?? []).every((name) => !SIZED.includes(name)))
  refuse(`--robots: needs --only with one of ${SIZED.join(', ')}`, HELP);
const wanted = Object.entries(BENCHES).filter(([name, { long }]) => only?.includes(name) ?? !long);
const number = (value: number | undefined): string =>
  value === undefined || Number.isNaN(value)
    ? '–'
    : value >= 1000
      ? Math.round(value).toLocaleString('en')
      : value.toPrecision(3);
const row = (cells: string[]): string =>
  `${cells[0]?.padEnd(58)} ${cells
    .slice(1, 4)
    .map((cell) => cell.padStart(12))
    .join(' ')}  ${cells.slice(4).join('  ')}\n`;
process.stdout.write(row(['figure', 'measured', 'floor', 'ratio', 'unit, goal']));
for (const [, bench] of wanted) {
  for (const figure of await bench.run(robots)) {
    process.stdout.write(
      row([
        figure.name,
        number(figure.value),
        number(figure.floor),
        number(figure.ratio),
        `${figure.unit}, ${figure.goal}`,
        figure.met ? 'reached' : `NOT reached${figure.why === undefined ? '' : `: ${figure.why}`}`,
      ]),
    );
  }
}
