// Adds up the results of several test runs and closes with one plain line. A step that failed without a failed test counts as one.
import { readFileSync } from 'node:fs';

const [failedSteps = '0', ...files] = process.argv.slice(2);
let passed = 0;
let failed = 0;
let skipped = 0;
for (const file of files) {
  try {
    const result = JSON.parse(readFileSync(file, 'utf8'));
    passed += result.numPassedTests;
    failed += result.numFailedTests + (result.numFailedTestSuites > 0 && result.numFailedTests === 0 ? 1 : 0);
    skipped += result.numPendingTests ?? 0;
  } catch (error) {
    process.stdout.write(`no results: ${error.message}\n`);
    failed += 1;
  }
}
if (Number(failedSteps) > 0 && failed === 0) failed = Number(failedSteps);
process.stdout.write(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
