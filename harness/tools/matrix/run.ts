/**
 * `npm run matrix`: tests the suites on correct, defective and useless servers.
 * Fails if a suite misses a defect, rejects a correct server or accepts a useless server.
 */

import { existsSync } from 'node:fs';
import process from 'node:process';
import { random } from '../../../simulators/common/random.ts';
import { clientSuite } from '../../../suites/client/index.ts';
import { deviceSuite } from '../../../suites/device/index.ts';
import { platformSuite } from '../../../suites/platform/index.ts';
import { systemSuite } from '../../../suites/system/index.ts';
import { inParallel } from '../../common/parallel.ts';
import { painter } from '../../common/terminal.ts';
import { readableDuration } from '../../common/units.ts';
import { APIS, type Api, type Level } from '../../runner/types.ts';
import { count, exitWithUsage, names, toolOptions, writeTestResults } from '../options.ts';
import { evaluateSubject, type Verdict } from './evaluate.ts';
import {
  changesInWords,
  compareGolden,
  type Golden,
  readGolden,
  recordGolden,
  titleOf,
  writeGolden,
} from './golden.ts';
import { bundlesOf, evaluateApart, pairsOf, sampleOf, shuffled } from './selection.ts';
import { allSubjects, SUBJECT_KINDS, type Subject, type SubjectKind } from './subjects.ts';
import { closingTable, type Part, placeOf, problemsOf, subjectsIn } from './table.ts';

/**
 * Maximum duration of a run on a defect or null server, as a multiple of the duration on the correct simulator.
 * The slowest defects, which break all replays or all pages, took 2.7 times (device) and 1.8 times (platform) as long.
 */
const MOST_TIMES = 3;
const ALL = allSubjects();
const flag = (describe: string) => ({ type: 'boolean' as const, default: false, describe });
const file = (describe: string) => ({ type: 'string' as const, requiresArg: true, describe });
const values = toolOptions('npm run matrix -- [options]', {
  api: names('subjects of one suite', APIS),
  kind: names('subjects of one kind', SUBJECT_KINDS),
  only: names('these subjects, with commas between', [...new Set(ALL.map(({ name }) => name))]),
  sample: count('one of so many subjects that differ in one word, drawn by --seed', 1),
  whole: flag('run every check on a defect, not only those of what it breaks, and ask if the first finding names that'),
  pairs: count('run so many pairs of defects of each suite in place of all else: no defect may hide another', 0, 0),
  single: flag('run each variant by itself, and not in bundles'),
  fast: flag('leave out the checks that have to wait'),
  timed: count(
    'run so many of the defects and null servers once more at the end, whole, fast and one at a time, and hold each ' +
      'to a multiple of the time of the reference',
    0,
    0,
  ),
  seed: count('which of them, and which variants are in one bundle: the day', Math.floor(Date.now() / 86_400_000), 0),
  concurrency: count('subjects at once', 8),
  json: file('record the golden outcomes in this file; what it holds of other subjects stays'),
  against: file('run, and print what is lost and gained against the golden outcomes in this file'),
  with: file('run nothing, and compare with the golden outcomes in this file'),
  verbose: flag('print every row, not only those with problems'),
});
const { api: apis = APIS, kind: kinds = SUBJECT_KINDS, only, seed, concurrency, whole, fast } = values;
const suites = [deviceSuite, platformSuite, systemSuite, clientSuite].filter(({ api }) => apis.includes(api));
const asked = ALL.filter(
  (subject) =>
    (only?.includes(subject.name) ?? true) &&
    apis.includes(subject.api) &&
    kinds.includes(subject.kind) &&
    !(subject.seldom === true && (whole || values.pairs > 0)),
);
const subjects = sampleOf(asked, values.sample, random(seed).next);
if (subjects.length < asked.length)
  process.stdout.write(`${subjects.length} of ${asked.length} subjects, with --seed ${seed}\n`);
if (subjects.length === 0) exitWithUsage('no subject is left to run');

const LONGEST_FIRST: readonly SubjectKind[] = ['unwilling', 'starved', 'null', 'variant', 'reference', 'defect'];
const turn = ({ kind, slow }: Subject): number => (slow === true ? -1 : LONGEST_FIRST.indexOf(kind));
if (values.against !== undefined && values.with !== undefined) {
  const after = readGolden(values.with);
  process.exit(reportChanges(readGolden(values.against), after, new Set(Object.keys(after.subjects))) ? 0 : 1);
}
const isRecorded = values.json !== undefined || values.against !== undefined;
if (isRecorded && (fast || values.pairs + values.timed > 0))
  exitWithUsage(
    '--json and --against: accepted beside them are --api, --kind, --only, --sample, --seed, --whole, --concurrency',
  );
if (isRecorded) process.exit((await recordAndCompare()) ? 0 : 1);

const variants = subjects.filter(({ kind }) => kind === 'variant');
const bundles = values.single || values.pairs > 0 ? variants : bundlesOf(variants, random(seed).next);
if (bundles.length < variants.length)
  process.stdout.write(`${variants.length} variants in ${bundles.length} runs, with --seed ${seed}\n`);
const pairs = apis.flatMap((api) => {
  const defects = subjects.filter((subject) => subject.api === api && subject.kind === 'defect');
  return pairsOf(defects, random(seed).next, values.pairs);
});
const queue = (values.pairs > 0 ? pairs : [...bundles, ...subjects.filter(({ kind }) => kind !== 'variant')]).toSorted(
  (a, b) => turn(a) - turn(b),
);

async function recordAndCompare(): Promise<boolean> {
  const { json, against } = values;
  const known = new Set(ALL.flatMap((subject) => [titleOf(subject, true), titleOf(subject, false)]));
  const checks = suites.flatMap((suite) => (suite.checks as readonly { id: string }[]).map(({ id }) => id));
  const after: Golden = { checks, subjects: {}, costs: {} };
  const before = against === undefined ? undefined : readGolden(against);
  const kept = json !== undefined && existsSync(json) ? readGolden(json) : { ...after };
  const isKnown = ([name]: [string, unknown]): boolean => known.has(name);
  let failed = 0;
  const filed = Object.keys(before?.subjects ?? {}).map((name) => name.split(' ')[0]);
  const due = filed.length === 0 ? subjects : subjects.filter(({ api }) => filed.includes(api));
  const inTurn = due.toSorted((a, b) => turn(a) - turn(b));
  await recordGolden(inTurn, { whole, concurrency }, (name, came) => {
    if (came instanceof Error) {
      failed += 1;
      process.stdout.write(`✗ ${name} could not be run: ${came.stack}\n`);
      return;
    }
    after.subjects[name] = came.row;
    after.costs[name] = came.cost;
    if (values.verbose) process.stdout.write(`${name}: ${came.cost[1]} s, first: ${came.row['first'] ?? 'none'}\n`);
    if (json === undefined) return;
    const still = <T>(table: Record<string, T>) => Object.fromEntries(Object.entries(table).filter(isKnown));
    const all = {
      subjects: { ...still(kept.subjects), ...after.subjects },
      costs: { ...still(kept.costs), ...after.costs },
    };
    writeGolden(json, { checks, ...all });
  });
  return (before === undefined || reportChanges(before, after, known)) && failed === 0;
}

function reportChanges(before: Golden, after: Golden, known: ReadonlySet<string>): boolean {
  const changes = compareGolden(before, after, known);
  process.stdout.write(`${changesInWords(changes, before, after).join('\n')}\n`);
  return changes.every(({ what }) => what !== 'lost');
}

const started = performance.now();
const verdicts: Verdict[] = [];
await inParallel(queue, concurrency, async (subject) => {
  for (const verdict of await evaluateApart(subject, { whole, fast, pairs: values.pairs > 0 })) {
    verdicts.push(verdict);
    if (values.verbose || verdict.problems.length > 0) process.stdout.write(row(verdict));
  }
  if (process.stderr.isTTY) process.stderr.write(`\r${verdicts.length} of ${queue.length}\r`);
});

const wrong = subjects.filter(({ kind }) => kind === 'defect' || kind === 'null');
const sample = shuffled(wrong, random(seed).next).slice(0, values.timed);
if (sample.length > 0)
  process.stdout.write(`held to ${MOST_TIMES} × the time of the reference, with --seed ${seed}:\n`);
const mostMs = new Map<Api, number>();
for (const subject of sample) {
  const { api } = subject;
  const right = ALL.find((one) => one.api === api && one.kind === 'reference');
  if (right !== undefined && !mostMs.has(api))
    mostMs.set(api, (await evaluateSubject(right, { fast: true })).durationMs * MOST_TIMES);
  const most = mostMs.get(api) ?? Number.POSITIVE_INFINITY;
  const verdict = await evaluateSubject(subject, { whole: true, fast: true, mostMs: most });
  process.stdout.write(row(verdict));
  const late = verdict.problems.filter(({ what }) => what.startsWith('took '));
  const first = verdicts.find((one) => one.subject === subject);
  if (first !== undefined && late.length > 0)
    verdicts.splice(verdicts.indexOf(first), 1, { ...first, problems: [...first.problems, ...late] });
}

function row({ subject: { api, kind, name }, passed, red, headline, problems, durationMs }: Verdict): string {
  const wrong = headline?.right === false && red.length > 0 ? ` (first: ${headline.id})` : '';
  const caught = red.length === 0 ? 'NOT CAUGHT' : red.join(' ') + wrong;
  const found = kind === 'defect' ? caught : `${passed} pass, ${red.length} red`;
  const mark = problems.length === 0 ? '✓' : '✗';
  const duration = readableDuration(durationMs).padStart(7);
  return `${mark} ${api.padEnd(8)} ${kind.padEnd(9)} ${name.padEnd(32)} ${duration}  ${found}\n`;
}

const everyDefect = values.pairs === 0 && values.sample === 1 && only === undefined && kinds.includes('defect');
const order = new Map(subjects.map((subject, index) => [subject, index]));
const place = ({ subject }: Verdict): number => order.get(subject.members?.[0] ?? subject) ?? 0;
const parts = suites.map(({ api, checks }): Part => {
  // Requirements with `until` belong to an older set, which the matrix does not run.
  const decisive = (checks as readonly { id: string; requirement: { level: Level; until?: string } }[])
    .filter(({ requirement }) => requirement.level !== 'INFO' && requirement.until === undefined)
    .map(({ id }) => id);
  return {
    api,
    verdicts: verdicts.filter(({ subject }) => subject.api === api).toSorted((a, b) => place(a) - place(b)),
    ...(everyDefect ? { checks: decisive } : {}),
  };
});
process.stdout.write(closingTable(parts, performance.now() - started, painter(process.stdout, process.env)));

const problems = problemsOf(parts);
const passed = verdicts.filter((verdict) => verdict.problems.length === 0);
writeTestResults('harness/tools/matrix/run.ts', subjectsIn(passed), [
  ...passed.map(({ subject, durationMs }) => ({ fullName: placeOf(subject), duration: durationMs })),
  ...problems.map(({ where, what, todo }) => ({ fullName: where, failureMessages: [`${what}\n${todo}`] })),
]);
process.exitCode = problems.length > 0 ? 1 : 0;
