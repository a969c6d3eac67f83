/**
 * `npm run matrix`: every defect must be caught by the requirements that it breaks, every check must turn red on a
 * defect, no variant may turn a MUST red, and no null server may pass a MUST.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import process from 'node:process';
import { random } from '../../../simulators/common/random.ts';
import { clientSuite } from '../../../suites/client/index.ts';
import { deviceSuite } from '../../../suites/device/index.ts';
import { platformSuite } from '../../../suites/platform/index.ts';
import { systemSuite } from '../../../suites/system/index.ts';
import { readableDuration } from '../../common/durations.ts';
import { painter } from '../../common/terminal.ts';
import { APIS, type Level } from '../../runner/types.ts';
import { countOf, inParallel, namesOf, refuse, toolOptions } from '../options.ts';
import { evaluateSubject, type Verdict } from './evaluate.ts';
import { bundlesOf, evaluateApart, GROUPS, without } from './selection.ts';
import { allSubjects, SUBJECT_KINDS, type Subject, type SubjectKind } from './subjects.ts';
import { asTestResults, closingTable, markdownTable, type Part, problemsOf, subjectsIn } from './table.ts';

const HELP = `npm run matrix -- [options]
  --api ${APIS.join('|').padEnd(36)}subjects of one suite
  --kind KIND                               subjects of one kind: ${SUBJECT_KINDS.join(', ')}
  --only NAME,NAME…                         these subjects
  --without GROUP,GROUP…                    leave these out: ${Object.keys(GROUPS).join(', ')}
  --within GROUP,GROUP…                     these alone
  --whole                                   run every check on a defect, not only those of what it breaks, and ask
                                            whether the first finding names that
  --single                                  run each variant by itself, and not in bundles
  --repeat N                                run every subject N times, each time with another seed (1)
  --busy N                                  beside N loops that each take up a core: no outcome may depend on that (0)
  --fast                                    leave out the checks that have to wait
  --timed N                                 run N of the defects and null servers once more at the end, whole, fast
                                            and one at a time, and hold each to its time (none); with --concurrency 1
                                            every subject is
  --seed N                                  which of them, and which variants are in one bundle (the day)
  --concurrency N                           run N subjects at once (8)
  --table FILE                              write every row to FILE, as Markdown
  --verbose                                 print every row, not only those with problems
`;

const DAY_MS = 86_400_000;

const values = toolOptions(HELP, {
  only: { type: 'string' },
  api: { type: 'string' },
  kind: { type: 'string' },
  without: { type: 'string' },
  within: { type: 'string' },
  whole: { type: 'boolean', default: false },
  single: { type: 'boolean', default: false },
  repeat: { type: 'string', default: '1' },
  busy: { type: 'string', default: '0' },
  fast: { type: 'boolean', default: false },
  timed: { type: 'string', default: '0' },
  seed: { type: 'string', default: String(Math.floor(Date.now() / DAY_MS)) },
  concurrency: { type: 'string', default: '8' },
  table: { type: 'string' },
  verbose: { type: 'boolean', default: false },
});
const all = allSubjects();
const only = namesOf(
  'only',
  values.only,
  all.map(({ name }) => name),
  HELP,
);
const suites = [deviceSuite, platformSuite, systemSuite, clientSuite].filter(({ api }) => (values.api ?? api) === api);
const groups = namesOf('without', values.without, Object.keys(GROUPS), HELP) ?? [];
const within = namesOf('within', values.within, Object.keys(GROUPS), HELP);
const asked = all.filter(
  (subject) =>
    (only === undefined || only.includes(subject.name)) &&
    (values.api ?? subject.api) === subject.api &&
    (values.kind ?? subject.kind) === subject.kind &&
    (within === undefined || within.some((group) => GROUPS[group]?.(subject))),
);
const { chosen: subjects, said } = without(groups, asked);
process.stdout.write(said.map((line) => `${line}\n`).join(''));
if (subjects.length === 0) refuse('no subject is left to run', HELP);

// Those that run the whole suite take longest: started last, everything would wait for them.
const LONGEST_FIRST: readonly SubjectKind[] = ['unwilling', 'starved', 'null', 'variant', 'reference', 'defect'];
const turn = ({ kind, slow }: Subject): number => (slow === true ? -1 : LONGEST_FIRST.indexOf(kind));
const seed = Number(values.seed);
const variants = subjects.filter(({ kind }) => kind === 'variant');
const bundles = values.single ? variants : bundlesOf(variants, random(seed).next);
if (bundles.length < variants.length)
  process.stdout.write(`${variants.length} variants in ${bundles.length} runs, with --seed ${values.seed}\n`);
const repeats = Array.from({ length: countOf('repeat', values.repeat, HELP) }, (_, index) => index);
const queue = [...bundles, ...subjects.filter(({ kind }) => kind !== 'variant')]
  .toSorted((a, b) => turn(a) - turn(b))
  .flatMap((subject) => repeats.map((index) => repeated(subject, index)));

function repeated(subject: Subject, index: number): Subject {
  if (index === 0) return subject;
  const again = { seed: seed + index };
  return { ...subject, name: `${subject.name} #${index + 1}`, run: (choice) => subject.run({ ...again, ...choice }) };
}

/** Ends by itself when this process is gone. */
const BUSY = 'const { ppid } = process; while (process.ppid === ppid) for (let i = 0; i < 1e8; i++);';
for (let loops = countOf('busy', values.busy, HELP, 0); loops > 0; loops -= 1)
  spawn(process.execPath, ['-e', BUSY], { stdio: 'ignore' }).unref();
const started = performance.now();
const verdicts: Verdict[] = [];
const concurrency = countOf('concurrency', values.concurrency, HELP);
const { whole, fast } = values;
await inParallel(queue, concurrency, async (subject) => {
  for (const verdict of await evaluateApart(subject, { whole, fast, timed: concurrency === 1 })) {
    verdicts.push(verdict);
    if (values.verbose || verdict.problems.length > 0) process.stdout.write(row(verdict));
  }
  if (process.stderr.isTTY) process.stderr.write(`\r${subjectsIn(verdicts)} of ${subjects.length}\r`);
});

/** A bound means something only for a subject that has the machine to itself, which takes too long for all of them. */
const timed = countOf('timed', values.timed, HELP, 0);
const { next } = random(seed);
const sample = subjects
  .filter(({ kind }) => kind === 'defect' || kind === 'null')
  .map((subject) => ({ subject, order: next() }))
  .toSorted((a, b) => a.order - b.order)
  .slice(0, timed);
if (sample.length > 0) process.stdout.write(`held to their time, with --seed ${values.seed}:\n`);
for (const { subject } of sample) {
  const verdict = await evaluateSubject(subject, { whole: true, fast: true, timed: true });
  process.stdout.write(row(verdict));
  const late = verdict.problems.filter(({ what }) => what.startsWith('took '));
  const first = verdicts.find((one) => one.subject === subject);
  if (first !== undefined && late.length > 0)
    verdicts.splice(verdicts.indexOf(first), 1, { ...first, problems: [...first.problems, ...late] });
}

function row({ subject: { api, kind, name }, passed, red, headline, problems, durationMs }: Verdict): string {
  const wrong = headline?.right === false && red.length > 0 ? ` (first: ${headline.id})` : '';
  const caught = red.length === 0 ? 'NOT CAUGHT' : red.map(({ id }) => id).join(' ') + wrong;
  const found = kind === 'defect' ? caught : `${passed} pass, ${red.length} red`;
  const mark = problems.length === 0 ? '✓' : '✗';
  const duration = readableDuration(durationMs).padStart(7);
  return `${mark} ${api.padEnd(8)} ${kind.padEnd(9)} ${name.padEnd(32)} ${duration}  ${found}\n`;
}

const everyDefect = only === undefined && within === undefined && (values.kind ?? 'defect') === 'defect';
const order = new Map(subjects.map((subject, index) => [subject, index]));
const place = ({ subject }: Verdict): number => order.get(subject.members?.[0] ?? subject) ?? 0;
const parts = suites.map(({ api, checks }): Part => {
  const decisive = (checks as readonly { id: string; requirement: { level: Level } }[])
    .filter(({ requirement }) => requirement.level !== 'INFO')
    .map(({ id }) => id);
  return {
    api,
    verdicts: verdicts.filter(({ subject }) => subject.api === api).toSorted((a, b) => place(a) - place(b)),
    ...(everyDefect ? { checks: decisive } : {}),
  };
});
process.stdout.write(closingTable(parts, performance.now() - started, painter(process.stdout, process.env)));
if (values.table !== undefined) writeFileSync(values.table, markdownTable(parts));

const ok = subjectsIn(verdicts.filter(({ problems }) => problems.length === 0));
const problems = problemsOf(parts);
const results = process.env['MUSTER_TEST_RESULTS'];
if (results !== undefined) writeFileSync(results, JSON.stringify(asTestResults(ok, parts)));
process.exitCode = problems.length > 0 ? 1 : 0;
