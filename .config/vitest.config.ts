import process from 'node:process';
import { defineConfig } from 'vitest/config';

/** Where to leave the results for whoever adds them up. */
const results = process.env['MUSTER_TEST_RESULTS'];

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  test: {
    include: ['harness/**/*.test.ts', 'simulators/**/*.test.ts', 'suites/**/*.test.ts', 'fixtures/**/*.test.ts'],
    // Generous on purpose: no test asserts a duration by it, it only ends what hangs.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
    maxWorkers: 2,
    reporters: results === undefined ? ['default'] : ['default', ['json', { outputFile: results }]],
    sequence: { hooks: 'stack' },
  },
});
