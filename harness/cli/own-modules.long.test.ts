import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { robot } from '../../simulators/device/testing/robot.ts';
import { useFleetRuns } from './testing/muster.ts';

const runs = useFleetRuns();

const KERNEL = ['harness/cli', 'harness/client', 'harness/common', 'harness/contract'];
const DEVICE = ['simulators/common', 'simulators/defects', 'simulators/device'];
const CHECK = ['harness/reports', 'harness/runner', 'harness/targets', 'suites/device', 'suites/section.ts'];

test.each<[string, (socket: string) => string[], string[]]>([
  [
    'simulate device',
    () => ['simulate', 'device', '--socket', runs.path('own.sock'), '--dir', runs.path('own')],
    DEVICE,
  ],
  ['check device', (socket) => ['check', 'device', '--socket', socket, '--only', 'device.deployment.*'], CHECK],
  [
    'fleet',
    () => runs.words('  - { do: rollout, over: 200ms }\n', { robots: '1' }),
    [...DEVICE, 'simulators/fleet', 'simulators/platform'],
  ],
])('%s loads modules of its own folders alone', async (_, words, own) => {
  await using agent = await robot();
  const list = runs.path('list');
  const source = `import{registerHooks}from'node:module';import{appendFileSync}from'node:fs';registerHooks({
    load(url,context,next){appendFileSync(${JSON.stringify(list)},url+'\\n');return next(url,context)}})`;
  const hook = `--import=data:text/javascript,${encodeURIComponent(source)}`;
  await using running = runs.start(words(agent.socket), { NODE_OPTIONS: hook });
  if (words(agent.socket)[0] === 'simulate') await running.ready();
  else await running.ended;
  const loaded = readFileSync(list, 'utf8').matchAll(/(?:harness|simulators|suites)\/[\w.]+(?=\/|\n)/g);
  const folders = new Set([...loaded].map(([folder]) => folder));
  expect([...folders].filter((folder) => ![...KERNEL, ...own].includes(folder))).toEqual([]);
  expect(own.filter((folder) => !folders.has(folder))).toEqual([]);
});
