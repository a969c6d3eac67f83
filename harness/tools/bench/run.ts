/** `npm run bench`: every figure beside the floor that the same run measured. */
import process from 'node:process';
import { onlyOf, toolOptions } from '../options.ts';
import type { Figure } from './figure.ts';

const BENCHES: Record<string, () => Promise<Figure[]>> = {
  device: async () => (await import('./device.ts')).benchDevice(),
  platform: async () => (await import('./platform.ts')).benchPlatform(),
  uplink: async () => (await import('./uplink.ts')).benchUplink(),
  fleet: async () => (await import('./fleet.ts')).benchFleet(),
  'fleet.rollout': async () => (await import('./fleet.ts')).benchFleetRollout(),
  'fleet.interrupt': async () => (await import('./fleet.ts')).benchFleetInterrupt(),
  'fleet.many': async () => (await import('./fleet.ts')).benchFleetMany(),
  'fleet.soak': async () => (await import('./fleet.ts')).benchFleetSoak(),
};
/** Minutes to half an hour, or most of the machine's memory: only when named. */
const LONG = new Set(['fleet.interrupt', 'fleet.many', 'fleet.soak']);

const HELP = `npm run bench -- [options]
  --only NAME,NAME…   these of ${Object.keys(BENCHES).join(', ')}
                      (${[...LONG].join(', ')} run only when they are named)
`;
const values = toolOptions(HELP, { only: { type: 'string' } });
const only = onlyOf(values.only, Object.keys(BENCHES), HELP);
const wanted = Object.keys(BENCHES).filter((name) => (only === undefined ? !LONG.has(name) : only.includes(name)));
const number = (value: number | undefined): string =>
  value === undefined ? '–' : value >= 1000 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
const row = (cells: string[]): string =>
  `${cells[0]?.padEnd(58)} ${cells
    .slice(1, 4)
    .map((cell) => cell.padStart(12))
    .join(' ')}  ${cells.slice(4).join('  ')}\n`;
process.stdout.write(row(['figure', 'measured', 'floor', 'ratio', 'unit, goal']));
for (const name of wanted) {
  for (const figure of (await BENCHES[name]?.()) ?? []) {
    process.stdout.write(
      row([
        figure.name,
        number(figure.value),
        number(figure.floor),
        number(figure.ratio),
        `${figure.unit}, ${figure.goal}`,
        figure.met ? 'reached' : 'NOT reached',
      ]),
    );
  }
}
