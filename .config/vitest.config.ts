import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { relative } from 'node:path';
import process from 'node:process';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ROOT = new URL('..', import.meta.url).pathname;
const results = process.env['MUSTER_TEST_RESULTS'];

/** Tests that take many seconds, e.g. with a browser; every change runs these tests. */
const LONG_TESTS = '**/*.long.test.ts';
/** Tests that take minutes, e.g. floods of requests; only the nightly run includes these tests. */
const NIGHTLY_TESTS = '**/*.nightly.test.ts';

/** Seconds that each long test took at night, for checkouts that have not run the tests yet. */
const SECONDS = JSON.parse(readFileSync(new URL('../.ci/seconds.json', import.meta.url), 'utf8')) as Record<
  string,
  number
>;

/** Starts the longest tests first, so that no long test runs alone at the end. */
class LongestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isShort = ({ project }: TestSpecification): number => Number(project.name === 'short');
    const usual = (file: TestSpecification): number =>
      SECONDS[relative(ROOT, file.moduleId)] ?? (isShort(file) === 1 ? 0 : 60);
    const duration = (file: TestSpecification): number =>
      this.ctx.cache.getTestSpecificationResult(file)?.duration ?? 1000 * usual(file);
    return Promise.resolve(files.toSorted((a, b) => isShort(a) - isShort(b) || duration(b) - duration(a)));
  }
}
const shuffled = process.argv.some((word) => word.startsWith('--sequence.shuffle'));

// Shares the compile cache of Node between workers and child processes, which halves the time to start.
process.env['NODE_COMPILE_CACHE'] ??= new URL('../node_modules/.cache/muster', import.meta.url).pathname;

process.env['XDG_STATE_HOME'] = new URL('../node_modules/.cache/muster-state', import.meta.url).pathname;

const FOLDERS = ['harness', 'simulators', 'suites', 'fixtures'];

const long = (name: string, files: string) => ({
  extends: true as const,
  test: { name, include: FOLDERS.map((folder) => `${folder}/${files}`) },
});

export default defineConfig(({ mode }) => ({
  root: ROOT,
  test: {
    testTimeout: 300_000,
    hookTimeout: 300_000,
    pool: 'forks',
    // Starts more workers than the machine has cores, because tests mostly wait.
    maxWorkers: Math.ceil(availableParallelism() * (mode === 'all' ? 2 : 1.5)),
    reporters: results === undefined ? ['default'] : ['default', ['json', { outputFile: results }]],
    sequence: { hooks: 'stack', ...(shuffled ? {} : { sequencer: LongestFirst }) },
    projects: [
      {
        extends: true,
        test: {
          name: 'short',
          include: FOLDERS.map((folder) => `${folder}/**/*.test.ts`),
          exclude: [...configDefaults.exclude, LONG_TESTS, NIGHTLY_TESTS],
          // Runs short tests in shared processes; a process for each file would double their time.
          isolate: false,
        },
      },
      ...(mode === 'all' ? [long('long', LONG_TESTS), long('nightly', NIGHTLY_TESTS)] : []),
    ],
  },
}));
