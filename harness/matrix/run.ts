/**
 * `npm run matrix`: every defect must be caught, every check must be red on a defect, no legal variant may turn a MUST red, and
 * a server that does nothing may pass no MUST. Options: `--only NAME,NAME…` (subjects), `--api device|platform`, `--kind defect|variant|null|right`,
 * `--concurrency N`, `--whole` (judge defects by all checks, not only by those of the requirements they break).
 */
import { writeFileSync } from 'node:fs';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { deviceSuite } from '../../suites/device/index.ts';
import { platformSuite } from '../../suites/platform/index.ts';
import { deviceSubjects } from './device-subjects.ts';
import { judge, neverRed } from './judge.ts';
import { platformSubjects } from './platform-subjects.ts';
import type { Subject, Verdict } from './types.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    api: { type: 'string' },
    kind: { type: 'string' },
    whole: { type: 'boolean', default: false },
    concurrency: { type: 'string', default: '3' },
  },
});
const only = values.only?.split(',');
const all = [...deviceSubjects(), ...platformSubjects()];
const subjects = all.filter(
  ({ name, api, kind }) =>
    (only === undefined || only.includes(name)) &&
    (values.api === undefined || values.api === api) &&
    (values.kind === undefined || values.kind === kind),
);
if (subjects.length === 0) {
  process.stderr.write(`nothing is called that; known: ${all.map(({ name }) => name).join(', ')}\n`);
  process.exit(64);
}

const verdicts: Verdict[] = [];
const queue = subjects.values();
await Promise.all(
  Array.from({ length: Number(values.concurrency) }, async () => {
    for (const subject of queue) {
      const verdict = await judge(subject, values.whole).catch((error: unknown) => broken(subject, error));
      verdicts.push(verdict);
      process.stdout.write(row(verdict));
    }
  }),
);

function broken(subject: Subject, error: unknown): Verdict {
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return {
    subject,
    outcomes: new Map(),
    red: [],
    blocked: [],
    durationMs: 0,
    problems: [`could not be judged: ${reason}`],
  };
}

function row({ subject, red, problems, durationMs, outcomes }: Verdict): string {
  const passed = [...outcomes.values()].filter(({ outcome }) => outcome === 'pass').length;
  const said =
    subject.kind === 'defect'
      ? red.length === 0
        ? 'NOT CAUGHT'
        : `${red.slice(0, 3).join(' ')}${red.length > 3 ? ` +${red.length - 3}` : ''}`
      : `${passed} pass, ${red.length} red`;
  const mark = problems.length === 0 ? '✓' : '✗';
  const head = `${mark} ${subject.api.padEnd(8)} ${subject.kind.padEnd(7)} ${subject.name.padEnd(38)} ${(durationMs / 1000).toFixed(1).padStart(5)} s  ${said}\n`;
  return head + problems.map((problem) => `      ${problem}\n`).join('');
}

const whole = only === undefined && values.kind === undefined;
const ids = [deviceSuite, platformSuite]
  .filter(({ api }) => values.api === undefined || values.api === api)
  .flatMap(({ checks }) => checks.filter((check) => check.requirement.level !== 'INFO').map((check) => check.id));
const green = whole ? neverRed(verdicts, ids) : [];
const of = (kind: Subject['kind']): Verdict[] => verdicts.filter(({ subject }) => subject.kind === kind);
const good = (list: readonly Verdict[]): number => list.filter(({ problems }) => problems.length === 0).length;
const lines = [
  `${good(of('right'))} of ${of('right').length} right simulators conformant`,
  `${good(of('defect'))} of ${of('defect').length} defects caught by the check that names them`,
  `${ids.length - green.length} of ${ids.length} checks red on at least one defect`,
  `${good(of('variant'))} of ${of('variant').length} legal variants without a MUST red`,
  `${good(of('null'))} of ${of('null').length} servers that do nothing pass no MUST`,
];
process.stdout.write(`\n${(whole ? lines : lines.filter((_, index) => index !== 2)).join('\n')}\n`);
if (green.length > 0)
  process.stdout.write(`\nNever red, so not proven able to fail:\n${green.map((id) => `  ${id}\n`).join('')}`);

const failed = verdicts.filter(({ problems }) => problems.length > 0).length + green.length;
const results = process.env['MUSTER_TEST_RESULTS'];
if (results !== undefined) {
  const passed = good(verdicts) + (whole ? ids.length - green.length : 0);
  writeFileSync(
    results,
    JSON.stringify({ numPassedTests: passed, numFailedTests: failed, numPendingTests: 0, numFailedTestSuites: 0 }),
  );
}
process.exitCode = failed > 0 ? 1 : 0;
