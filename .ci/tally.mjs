// Adds up the results of several test runs, names what failed again, and closes with one plain line. A step that failed without a failed test counts as one.
import { readFileSync } from 'node:fs';
import { basename, relative } from 'node:path';

const [failedSteps = '0', ...files] = process.argv.slice(2);
const shownMessage = 2000;
const failures = [];
let passed = 0;
let skipped = 0;
for (const file of files) {
  const run = basename(file, '.json');
  try {
    const result = JSON.parse(readFileSync(file, 'utf8'));
    passed += result.numPassedTests;
    skipped += result.numPendingTests ?? 0;
    failures.push(...failuresOf(result, run));
  } catch (error) {
    failures.push({ title: `${run}: no results`, message: error.message });
  }
}
if (Number(failedSteps) > 0 && failures.length === 0) {
  failures.push({ title: `${failedSteps} steps failed, though no test did`, message: '' });
}
for (const { title, message } of failures) {
  process.stdout.write(`\n== failed: ${title}\n${message.slice(0, shownMessage)}\n`);
}
process.stdout.write(`${passed} passed, ${failures.length} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`);
process.exitCode = failures.length > 0 || passed === 0 ? 1 : 0;

function failuresOf(result, run) {
  const suites = result.testResults ?? [];
  const tests = suites.flatMap((suite) =>
    (suite.assertionResults ?? [])
      .filter((test) => test.status === 'failed')
      .map((test) => ({
        title: `${run}: ${relative('.', suite.name)}: ${test.fullName}`,
        message: (test.failureMessages ?? []).join('\n'),
      })),
  );
  const withoutTest = suites
    .filter(
      (suite) => suite.status === 'failed' && !(suite.assertionResults ?? []).some((test) => test.status === 'failed'),
    )
    .map((suite) => ({ title: `${run}: ${relative('.', suite.name)}`, message: suite.message ?? '' }));
  const unnamed = result.numFailedTests - tests.length;
  return unnamed > 0
    ? [...tests, ...withoutTest, ...Array(unnamed).fill({ title: `${run}: a test it does not name`, message: '' })]
    : [...tests, ...withoutTest];
}
