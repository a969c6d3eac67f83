/** `npm run bench`: prints figures, and beside each the figure of bare sockets or files in the same run. */
import process from 'node:process';
import type { Figure } from '../measure/figure.ts';
import { names, toolOptions } from '../options.ts';
import { benchBroker } from './broker.ts';
import { benchCheck } from './check.ts';
import { benchDevice } from './device.ts';
import { benchFleet, benchFleetMany } from './fleet.ts';
import { benchGrowth } from './growth.ts';
import { benchLateness, benchShards } from './lateness.ts';
import { benchPeers } from './peers.ts';
import { benchPlatform } from './platform.ts';
import { benchRollout } from './rollout.ts';
import { benchStart } from './start.ts';
import { benchWatch } from './watch.ts';

const BENCHES: Record<string, [run: () => Promise<Figure[]>, summary: string]> = {
  device: [benchDevice, 'delivery to 1,000 subscribers'],
  platform: [benchPlatform, 'pages of a list of a million devices'],
  broker: [benchBroker, 'pings there and back per second'],
  fleet: [benchFleet, 'memory of all processes with 10,000 robots, idle and connected: some minutes'],
  start: [benchStart, 'processor time until check device, simulate device and fleet do their work: half a minute'],
  watch: [benchWatch, '* muster watch beside nginx and HAProxy, and what it adds (needs both, and wrk): two minutes'],
  lateness: [benchLateness, "muster fleet's own lateness beside that on the wire, up to 20,000 a second: two minutes"],
  'fleet.rollout': [benchRollout, 'a roll-out to 10,000 connected robots, beside bare ends that do the same'],
  peers: [benchPeers, '* muster fleet beside k6 and bare loops in Go and Node (Go builds the first two): six minutes'],
  check: [benchCheck, 'memory and processor time of check device --fast, beside a bare replay of its requests'],
  growth: [benchGrowth, 'processor time a unit of work at 10 and 100 times the work: a minute'],
  shards: [benchShards, '1 to 8 shards of muster fleet, each limited to a tenth of a core: three minutes'],
  'fleet.many': [benchFleetMany, '* 100,000 idle robots: some minutes and several GB'],
};

const USAGE = `npm run bench -- [options]

A figure whose name begins with \`muster\` is of the command as it is shipped, with all its processes. One that \
begins with \`inner\` calls functions, of a part that no command shows alone.

${Object.entries(BENCHES)
  .map(([name, [, summary]]) => `  ${name.padEnd(15)}  ${summary}\n`)
  .join('')}`;
const { only } = toolOptions(USAGE, {
  only: names('these, with commas between; without it all but those marked *, which take long', Object.keys(BENCHES)),
});

const number = (value = Number.NaN): string =>
  Number.isNaN(value) ? '–' : value >= 1000 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
const row = (name: string, numbers: readonly string[], ...rest: readonly string[]): void =>
  void process.stdout.write(
    `${[name.padEnd(58), ...numbers.map((cell) => cell.padStart(12))].join(' ')}  ${rest.join('  ')}\n`,
  );
row('figure', ['measured', 'floor', 'ratio'], 'unit, goal');
for (const [bench, [run, summary]] of Object.entries(BENCHES)) {
  if (!(only?.includes(bench) ?? !summary.startsWith('*'))) continue;
  for (const { name, value, floor, ratio, unit, goal, met, why } of await run()) {
    const numbers = [value, floor, ratio ?? (floor && value / floor)].map(number);
    row(name, numbers, `${unit}, ${goal}`, met ? 'reached' : `NOT reached${why ? `: ${why}` : ''}`);
  }
}
