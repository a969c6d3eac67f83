/** `npm run capacity`: what a million robots take, from measured costs and a simulated storm. */
import { readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { realStorm } from '../bench/storm.ts';
import { toolOptions } from '../options.ts';
import { type Costs, measureCosts } from './costs.ts';
import { capacityPage } from './page.ts';

const COSTS = new URL('../../../fixtures/capacity/costs.json', import.meta.url);
const PAGE = new URL('../../../fixtures/capacity/README.md', import.meta.url);

const HELP = `npm run capacity -- [options]
  --measure     measure what a robot costs and a storm of 5,000 on this machine first (about seven minutes), and write costs.json
  --write       write fixtures/capacity/README.md; without it the page is printed
`;
const values = toolOptions(HELP, { measure: { type: 'boolean' }, write: { type: 'boolean' } });
if (values.measure) {
  const costs: Costs = { ...(await measureCosts()), storm: await realStorm() };
  writeFileSync(COSTS, `${JSON.stringify(costs, undefined, 2)}\n`);
}
const page = capacityPage(JSON.parse(readFileSync(COSTS, 'utf8')) as Costs);
if (values.write) {
  writeFileSync(PAGE, page);
  process.stdout.write(`written: ${fileURLToPath(PAGE)}\n`);
} else process.stdout.write(page);
