/** Prints a table of all steps, the slowest tests, the failures and a summary line. */
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { readableDuration } from '../harness/common/units.ts';

export interface EndedStep {
  name: string;
  code: number;
  output: string;
  durationMs: number;
  /** Path of the step's results in vitest's JSON format; a step without this file counts as one test. */
  results: string;
}

interface Failure {
  title: string;
  message: string;
}

interface Result {
  passed: number;
  skipped: number;
  failures: readonly Failure[];
  timed: readonly { what: string; ms: number }[];
}

interface TestResults {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests?: number;
  testResults: readonly TestFile[];
}

interface TestFile {
  name: string;
  status?: string;
  message?: string;
  startTime?: number;
  endTime?: number;
  assertionResults: readonly { fullName: string; status: string; duration?: number; failureMessages?: string[] }[];
}

const LONGEST_MESSAGE = 2000;

export const testResultsOf = ({ results }: Pick<EndedStep, 'results'>): TestResults | undefined =>
  existsSync(results) ? (JSON.parse(readFileSync(results, 'utf8')) as TestResults) : undefined;

function resultOf(done: EndedStep): Result {
  const tests = testResultsOf(done);
  const failed: Failure = {
    title: `${done.name}: exit code ${done.code}`,
    message: done.output.slice(-LONGEST_MESSAGE),
  };
  if (tests === undefined) {
    const skipped = Number(done.code === 0 && /^SKIPPED/m.test(done.output));
    return { passed: done.code === 0 ? 1 - skipped : 0, skipped, failures: done.code === 0 ? [] : [failed], timed: [] };
  }
  const named = tests.testResults.flatMap((file) => failuresIn(file, done.name));
  const unnamed = Math.max(tests.numFailedTests - named.length, Number(done.code !== 0 && named.length === 0));
  return {
    passed: tests.numPassedTests,
    skipped: tests.numPendingTests ?? 0,
    failures: [...named, ...Array<Failure>(unnamed).fill(failed)],
    timed: tests.testResults.flatMap((file) => timesIn(file, done.name)),
  };
}

function failuresIn({ name, status, message, assertionResults }: TestFile, step: string): Failure[] {
  const title = `${step}: ${relative('.', name)}`;
  const tests = assertionResults.filter((test) => test.status === 'failed');
  if (tests.length === 0 && status === 'failed') return [{ title, message: message ?? '' }];
  return tests.map(({ fullName, failureMessages = [] }) => ({
    title: `${title}: ${fullName}`,
    message: failureMessages.join('\n'),
  }));
}

function timesIn({ name, startTime, endTime, assertionResults }: TestFile, step: string): Result['timed'] {
  if (startTime !== undefined && endTime !== undefined) return [{ what: relative('.', name), ms: endTime - startTime }];
  return assertionResults.map(({ fullName, duration = 0 }) => ({ what: `${step}: ${fullName}`, ms: duration }));
}

const WIDTHS = [8, 7, 8, 8];
const row = (name: string, cells: readonly (string | number)[]): string =>
  `${name.padEnd(24)}${cells.map((cell, column) => String(cell).padStart(WIDTHS[column] ?? 0)).join('')}`;

export function printReport(steps: readonly EndedStep[], weights: readonly string[]): number {
  const results = steps.map((step) => ({ step, ...resultOf(step) }));
  const failures = results.flatMap((result) => result.failures);
  const passed = results.reduce((sum, result) => sum + result.passed, 0);
  const skipped = results.reduce((sum, result) => sum + result.skipped, 0);
  const slowest = results.flatMap(({ timed }) => timed).toSorted((a, b) => b.ms - a.ms);
  const lines = [
    '',
    row('step', ['passed', 'failed', 'skipped', 'seconds']),
    ...results.map(({ step, passed: done, skipped: not, failures: { length } }) =>
      row(step.name, [done, length, not, (step.durationMs / 1000).toFixed(0)]),
    ),
    '',
    'slowest',
    ...slowest.slice(0, 20).map(({ what, ms }) => `${readableDuration(ms).padStart(10)}  ${what}`),
    '',
    ...weights,
    ...failures.map(({ title, message }) => `\n== failed: ${title}\n${message.slice(0, LONGEST_MESSAGE)}`),
    `${passed} passed, ${failures.length} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  return failures.length > 0 || passed === 0 ? 1 : 0;
}
