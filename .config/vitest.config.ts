import { availableParallelism } from 'node:os';
import process from 'node:process';
import { configDefaults, defineConfig } from 'vitest/config';

/** Where to write the results as JSON, for `.ci/run`. */
const results = process.env['MUSTER_TEST_RESULTS'];

/** Tests that take long (browser, containers, crash loops, thousands of robots): `npm run test:all` runs them as well. */
const LONG_TESTS = '**/*.long.test.ts';

// Types are stripped and modules compiled once for all workers, and for the processes that tests start: half of their start is that.
process.env['NODE_COMPILE_CACHE'] ??= new URL('../node_modules/.cache/muster', import.meta.url).pathname;

export default defineConfig(({ mode }) => ({
  root: new URL('..', import.meta.url).pathname,
  test: {
    include: ['harness/**/*.test.ts', 'simulators/**/*.test.ts', 'suites/**/*.test.ts', 'fixtures/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...(mode === 'all' ? [] : [LONG_TESTS])],
    // Generous on purpose: no test asserts a duration by it, it only ends what hangs.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
    // Tests wait for sockets and processes about a third of their time.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    reporters: results === undefined ? ['default'] : ['default', ['json', { outputFile: results }]],
    sequence: { hooks: 'stack' },
  },
}));
