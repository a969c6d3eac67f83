/**
 * `npm run perturb`: how much of what a correct server could say wrongly a suite notices. A proxy changes one thing in
 * one class of exchanges, drawn by the seed; the suite runs through it from the command line, as a user runs it.
 */
import { writeFileSync } from 'node:fs';
import process from 'node:process';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { readableDuration } from '../../common/durations.ts';
import { inParallel } from '../../common/parallel.ts';
import { count, refuse, seed, toolOptions, writeTestResults } from '../options.ts';
import { drawn } from './draw.ts';
import { isFalse, OUTCOMES, type Tried, tryOut } from './outcome.ts';
import { cellText, isOpen, KINDS, type Perturbation } from './perturbation.ts';
import { SERVERS, type Server, type Survey, surveyOf } from './servers.ts';

const values = toolOptions(
  'npm run perturb -- platform|device [options]',
  {
    count: count('number of perturbations, with the seeds from --seed on', 40),
    seed: seed('the first seed; with --count 1 exactly that perturbation'),
    concurrency: count('suites at once', 2),
    least: count('the share of determined perturbations that has to be found, per cent', 0, 0),
    whole: { type: 'boolean', default: false, describe: 'end no run with its first finding' },
    list: { type: 'boolean', default: false, describe: 'name what is drawn, and run nothing' },
    json: { type: 'string', requiresArg: true, describe: 'write each perturbation with its outcome into this file' },
  },
  { loose: ['platform', 'device'] },
);

const lineFor = (it: Perturbation): string => `${it.api} ${it.seed} ${it.server}  ${it.kind}: ${cellText(it)}`;

const printed = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

function show(tried: Tried): void {
  const { perturbation, outcome, found, visited, changed, durationMs } = tried;
  const counts = `${changed} of ${visited} changed, ${readableDuration(durationMs)}`;
  printed(
    `${isFalse(tried) ? '✗' : ' '} ${outcome.padEnd(13)} ${lineFor(perturbation)}  (${counts}) ${found[0] ?? ''}`,
  );
}

const isDue = ({ perturbation }: Tried): boolean => !isOpen(perturbation.kind);

/** A row a kind: how many came to each outcome. */
function table(all: readonly Tried[]): string[] {
  const row = (name: string, some: readonly Tried[]): string => {
    const counts = OUTCOMES.map((each) => some.filter(({ outcome }) => outcome === each).length || '·');
    return name.padEnd(24) + counts.map((each, n) => String(each).padStart((OUTCOMES[n]?.length ?? 0) + 2)).join('');
  };
  const byKind = Map.groupBy(all, ({ perturbation: { kind } }) => (isOpen(kind) ? `open: ${kind}` : kind));
  const rows = [...byKind].toSorted(
    ([a], [b]) => Number(a.startsWith('open:')) - Number(b.startsWith('open:')) || (a < b ? -1 : 1),
  );
  const [due, open] = [all.filter(isDue), all.filter((each) => !isDue(each))];
  const title = `${'kind'.padEnd(24)}  ${OUTCOMES.join('  ')}`;
  return [title, ...rows.map(([kind, some]) => row(kind, some)), row('determined', due), row('open', open)];
}

const percent = (part: number, of: number): string =>
  `${part} of ${of} (${((100 * part) / Math.max(1, of)).toFixed(1)} %)`;

/** The share that was found; what was not, with its cell. */
function summary(all: readonly Tried[]): { share: number; lines: string[] } {
  const due = all.filter(isDue);
  const visited = due.filter(({ changed }) => changed > 0);
  const red = due.filter(({ outcome }) => outcome === 'red');
  const found = [...red, ...due.filter(({ outcome }) => outcome === 'warned')];
  const survivors = due.filter((each) => !found.includes(each));
  const shares = (some: readonly Tried[]): string =>
    `${percent(some.length, due.length)} of all that are due, ${percent(some.length, visited.length)} of those visited`;
  const lines = survivors.map(
    ({ perturbation, outcome }) => `${outcome.padEnd(13)} ${lineFor(perturbation)} — ${KINDS[perturbation.kind].text}`,
  );
  const title = lines.length === 0 ? [] : ['', 'survivors, each once more with --seed S --count 1:'];
  return {
    share: (100 * red.length) / Math.max(1, due.length),
    lines: [`red: ${shares(red)}`, `red or warned: ${shares(found)}`, ...title, ...lines],
  };
}

const [api] = values._ as Perturbation['api'][];
if (values._.length !== 1 || api === undefined) refuse('name one API: platform or device');
using folder = scratch();
const started = performance.now();
const lines = new Map<Server, string>();
const servers: [Server, Survey][] = [];
for (const server of SERVERS) {
  if (server.missing === undefined) {
    const line = server.start(api, folder.path);
    lines.set(server, line);
    servers.push([server, api === 'platform' ? await surveyOf(server, line) : new Map()]);
  } else printed(`${server.name} is left out: ${server.missing}`);
}
const perturbations = Array.from({ length: values.count }, (_, n) => drawn(api, values.seed + n, servers));
if (values.list) {
  for (const each of perturbations) printed(lineFor(each));
  process.exit();
}
printed(`${api}: ${values.count} perturbations from --seed ${values.seed} on`);
const all: Tried[] = [];
await inParallel(perturbations, values.concurrency, async (each) => {
  const server = SERVERS.find(({ name }) => name === each.server) as Server;
  const tried = await tryOut(each, lines.get(server) ?? '', values.whole);
  all.push(tried);
  show(tried);
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(all, undefined, 2));
});
const { share, lines: said } = summary(all);
for (const line of ['', ...table(all), '', ...said]) printed(line);
const wrong = all.filter(isFalse);
for (const { perturbation, found, why } of wrong) printed(`✗ false red: ${lineFor(perturbation)}: ${found[0]} ${why}`);
printed(readableDuration(performance.now() - started));
const short =
  share < values.least
    ? [{ fullName: `${api}: ${share.toFixed(1)} % found`, failureMessages: [`${values.least} % are due`] }]
    : [];
writeTestResults('harness/tools/perturb/run.ts', all.length - wrong.length, [
  ...wrong.map(({ perturbation, why }) => ({ fullName: lineFor(perturbation), failureMessages: [String(why)] })),
  ...short,
]);
process.exitCode = wrong.length + short.length > 0 ? 1 : 0;
