/**
 * `npm run matrix`: every defect must be caught by the requirements it breaks, every check must be red on a defect, no legal choice may turn a
 * MUST red, and a server that does nothing may pass no MUST. `-- --help` lists the options.
 */
import { writeFileSync } from 'node:fs';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { deviceSuite } from '../../../suites/device/index.ts';
import { platformSuite } from '../../../suites/platform/index.ts';
import { systemSuite } from '../../../suites/system/index.ts';
import { readableDuration } from '../../common/durations.ts';
import { painter } from '../../common/terminal.ts';
import { APIS } from '../../runner/types.ts';
import { deviceSubjects } from './device-subjects.ts';
import { judge } from './judge.ts';
import { platformSubjects } from './platform-subjects.ts';
import { systemSubjects } from './system-subjects.ts';
import { asTestResults, closingTable, markdownTable, type Part, shortcomings } from './table.ts';
import { SUBJECT_KINDS, type Verdict } from './types.ts';

const HELP = `npm run matrix -- [options]
  --api ${APIS.join('|')}        one suite
  --kind ${SUBJECT_KINDS.join('|')}  one kind of subject
  --only NAME,NAME…                  these subjects
  --whole                            judge defects by every check, not by those of the requirements they break
  --concurrency N                    subjects at once (8)
  --table FILE                       write every row to FILE, as Markdown
  --verbose                          show every row as it comes, not only those that are wrong
`;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    api: { type: 'string' },
    kind: { type: 'string' },
    whole: { type: 'boolean', default: false },
    concurrency: { type: 'string', default: '8' },
    table: { type: 'string' },
    verbose: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit();
}
const only = values.only?.split(',');
const suites = [deviceSuite, platformSuite, systemSuite].filter(({ api }) => (values.api ?? api) === api);
const all = [...deviceSubjects(), ...platformSubjects(), ...systemSubjects()];
const subjects = all.filter(
  ({ name, api, kind }) =>
    (only === undefined || only.includes(name)) && (values.api ?? api) === api && (values.kind ?? kind) === kind,
);
if (subjects.length === 0) {
  process.stderr.write(`nothing is called that; known: ${all.map(({ name }) => name).join(', ')}\n\n${HELP}`);
  process.exit(64);
}

// Those that run the whole suite take longest: begun last, they would be waited for alone.
const longestFirst = ['null', 'variant', 'right', 'defect'];
const queue = subjects
  .toSorted((left, right) => longestFirst.indexOf(left.kind) - longestFirst.indexOf(right.kind))
  .values();
const started = performance.now();
const verdicts: Verdict[] = [];
await Promise.all(
  Array.from({ length: Number(values.concurrency) }, async () => {
    for (const subject of queue) {
      const verdict = await judge(subject, values.whole);
      verdicts.push(verdict);
      if (process.stderr.isTTY) process.stderr.write(`\r${verdicts.length} of ${subjects.length}\r`);
      if (values.verbose || verdict.problems.length > 0) process.stdout.write(row(verdict));
    }
  }),
);

function row({ subject: { api, kind, name }, passed, red, problems, durationMs }: Verdict): string {
  const caught = red.length === 0 ? 'NOT CAUGHT' : red.map(({ id }) => id).join(' ');
  const said = kind === 'defect' ? caught : `${passed} pass, ${red.length} red`;
  const mark = problems.length === 0 ? '✓' : '✗';
  return `${mark} ${api.padEnd(8)} ${kind.padEnd(7)} ${name.padEnd(32)} ${readableDuration(durationMs).padStart(7)}  ${said}\n`;
}

const everyDefect = only === undefined && (values.kind ?? 'defect') === 'defect';
const order = new Map(subjects.map((subject, index) => [subject, index]));
const place = ({ subject }: Verdict): number => order.get(subject) ?? 0;
const parts = suites.map(({ api, checks }): Part => {
  const decisive = (checks as readonly { id: string; requirement: { level: string } }[])
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

const good = verdicts.filter(({ problems }) => problems.length === 0).length;
const wrong = shortcomings(parts);
const results = process.env['MUSTER_TEST_RESULTS'];
if (results !== undefined) writeFileSync(results, JSON.stringify(asTestResults(good, wrong)));
process.exitCode = wrong.length > 0 ? 1 : 0;
