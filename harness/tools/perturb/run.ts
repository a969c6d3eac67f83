/** `npm run perturb`: measures which share of deviations from a correct server a suite notices. */
import { writeFileSync } from 'node:fs';
import process from 'node:process';
import { random } from '../../../simulators/common/random.ts';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { inParallel } from '../../common/parallel.ts';
import { readableDuration } from '../../common/units.ts';
import { count, exitWithUsage, seed, toolOptions } from '../options.ts';
import { deviceChange, platformChange } from './draw.ts';
import { isFalse, OUTCOMES, type Tried, tryOut } from './outcome.ts';
import { cellText, descriptionOf, isOpen, kindsOf, type Perturbation } from './perturbation.ts';
import { SERVERS, type Server, type Survey, surveyOf } from './servers.ts';

const values = toolOptions(
  'npm run perturb -- platform|device [options]',
  {
    count: count('number of perturbations, with the seeds from --seed on', 40),
    seed: seed('the first seed; with --count 1 exactly that perturbation'),
    concurrency: count('suites at once', 2),
    whole: { type: 'boolean', default: false, describe: 'end no run with its first finding' },
    json: { type: 'string', requiresArg: true, describe: 'write each perturbation with its outcome into this file' },
  },
  { loose: ['platform', 'device'] },
);

const print = (text: string): boolean => process.stdout.write(`${text}\n`);
const lineFor = (it: Perturbation): string => `${it.api} ${it.seed} ${it.server}  ${it.kind}: ${cellText(it)}`;

function drawPerturbation(api: Perturbation['api'], seed: number, servers: readonly [Server, Survey][]): Perturbation {
  const chance = random(`${api}/${seed}`);
  const [server, survey] = chance.pick(servers.flatMap((one) => Array.from({ length: one[0].weight }, () => one)));
  const origin = { api, seed, server: server.name };
  if (chance.chance(0.2)) {
    const kind = chance.pick([...kindsOf('json', 'bytes'), ...(api === 'device' ? kindsOf('stream') : [])]);
    const isWide = chance.chance(0.6) || !kindsOf('json').includes(kind);
    const operations = api === 'platform' ? [...survey.keys()] : ['GET /deployments/current', 'GET /events'];
    return { ...origin, kind, cell: isWide ? {} : { operation: chance.pick(operations) } };
  }
  for (;;) {
    const made = api === 'device' ? deviceChange(chance) : platformChange({ chance, server, survey });
    if (made !== undefined) return { ...origin, ...made };
  }
}

function table(all: readonly Tried[]): string[] {
  const row = (name: string, some: readonly Tried[]): string => {
    const cells = OUTCOMES.map((each) => {
      const number = some.filter(({ outcome }) => outcome === each).length;
      return String(number || '·').padStart(each.length + 2);
    });
    return name.padEnd(24) + cells.join('');
  };
  const byKind = (isLegal: boolean): string[] => {
    const some = all.filter(({ perturbation }) => isOpen(perturbation.kind) === isLegal);
    const kinds = [...Map.groupBy(some, ({ perturbation }) => perturbation.kind)];
    const rows = kinds.map(([kind, each]) => row(isLegal ? `open: ${kind}` : kind, each));
    return [...rows.sort(), row(isLegal ? 'open' : 'determined', some)];
  };
  return [`${'kind'.padEnd(24)}  ${OUTCOMES.join('  ')}`, ...byKind(false), ...byKind(true)];
}

function summary(all: readonly Tried[]): string[] {
  const due = all.filter(({ perturbation }) => !isOpen(perturbation.kind));
  const red = due.filter(({ outcome }) => outcome === 'red');
  const found = due.filter(({ outcome }) => outcome === 'red' || outcome === 'warned');
  const visited = due.filter(({ changed }) => changed > 0).length;
  const percent = (part: number, of: number): string =>
    `${part} of ${of} (${((100 * part) / Math.max(1, of)).toFixed(1)} %)`;
  const shares = ({ length }: readonly Tried[]): string =>
    `${percent(length, due.length)} of all that are due, ${percent(length, visited)} of those visited`;
  const survivors = due
    .filter((each) => !found.includes(each))
    .map(({ perturbation: it, outcome }) => `${outcome.padEnd(13)} ${lineFor(it)} — ${descriptionOf(it.kind)}`);
  const title = survivors.length === 0 ? [] : ['', 'survivors, each once more with --seed S --count 1:'];
  return [`red: ${shares(red)}`, `red or warned: ${shares(found)}`, ...title, ...survivors];
}

const [api] = values._ as Perturbation['api'][];
if (values._.length !== 1 || api === undefined) exitWithUsage('name one API: platform or device');
using folder = scratch();
const started = performance.now();
const lines = new Map<string, string>();
const servers: [Server, Survey][] = [];
for (const server of SERVERS) {
  if (server.missing === undefined) {
    const line = server.start(api, folder.path);
    lines.set(server.name, line);
    servers.push([server, api === 'platform' ? await surveyOf(server, line) : new Map()]);
  } else print(`${server.name} is left out: ${server.missing}`);
}
const perturbations = Array.from({ length: values.count }, (_, n) => drawPerturbation(api, values.seed + n, servers));
print(`${api}: ${values.count} perturbations from --seed ${values.seed} on`);
const all: Tried[] = [];
await inParallel(perturbations, values.concurrency, async (each) => {
  const tried = await tryOut(each, lines.get(each.server) ?? '', values.whole);
  all.push(tried);
  const { outcome, found, visited, changed, durationMs } = tried;
  const counts = `(${changed} of ${visited} changed, ${readableDuration(durationMs)})`;
  print(`${isFalse(tried) ? '✗' : ' '} ${outcome.padEnd(13)} ${lineFor(each)}  ${counts} ${found[0] ?? ''}`);
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(all, undefined, 2));
});
for (const line of ['', ...table(all), '', ...summary(all)]) print(line);
const wrong = all.filter(isFalse);
for (const { perturbation, found, why } of wrong) print(`✗ false red: ${lineFor(perturbation)}: ${found[0]} ${why}`);
print(readableDuration(performance.now() - started));
process.exitCode = wrong.length > 0 ? 1 : 0;
