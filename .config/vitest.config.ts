import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { relative } from 'node:path';
import process from 'node:process';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ROOT = new URL('..', import.meta.url).pathname;
/** File for results as JSON, from `.ci/run`. */
const results = process.env['MUSTER_TEST_RESULTS'];

/** Tests of many seconds (browser, containers, crash loops), which guard a change. */
const LONG_TESTS = '**/*.long.test.ts';
/** Tests of minutes for a release: floods, sleeping machines, whole networks of faults. */
const NIGHTLY_TESTS = '**/*.nightly.test.ts';

/** Seconds of long tests in a nightly run, for checkouts that have run nothing yet. */
const SECONDS = JSON.parse(readFileSync(new URL('../.ci/seconds.json', import.meta.url), 'utf8')) as Record<
  string,
  number
>;

/** Seconds assumed for any other long test. */
const NEW_SECONDS = 60;

/** Starts long tests first, and the longest of these, so that none is left to run alone at the end. */
class LongestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isShort = ({ project }: TestSpecification): number => Number(project.name === 'short');
    // A new long test may be the longest.
    const usual = (file: TestSpecification): number =>
      SECONDS[relative(ROOT, file.moduleId)] ?? (isShort(file) === 1 ? 0 : NEW_SECONDS);
    const duration = (file: TestSpecification): number =>
      this.ctx.cache.getTestSpecificationResult(file)?.duration ?? 1000 * usual(file);
    return Promise.resolve(files.toSorted((a, b) => isShort(a) - isShort(b) || duration(b) - duration(a)));
  }
}
const shuffled = process.argv.some((word) => word.startsWith('--sequence.shuffle'));

// Strips types and compiles modules once for all workers and processes of tests, which halves their start.
process.env['NODE_COMPILE_CACHE'] ??= new URL('../node_modules/.cache/muster', import.meta.url).pathname;

// Keeps what runs of tests remember out of the user's folder.
process.env['XDG_STATE_HOME'] = new URL('../node_modules/.cache/muster-state', import.meta.url).pathname;

const FOLDERS = ['harness', 'simulators', 'suites', 'fixtures'];

const long = (name: string, files: string) => ({
  extends: true as const,
  test: { name, include: FOLDERS.map((folder) => `${folder}/${files}`) },
});

export default defineConfig(({ mode }) => ({
  root: ROOT,
  test: {
    // Milliseconds: only ends what hangs, as no test asserts a duration by it.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    pool: 'forks',
    // Tests wait for sockets and processes: short ones a third of their time, long ones most. On two cores, six workers
    // took as long as four.
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
          // Half the time of short tests would go into a process and modules for each; `npm run nightly` isolates each.
          isolate: false,
        },
      },
      ...(mode === 'all' ? [long('long', LONG_TESTS), long('nightly', NIGHTLY_TESTS)] : []),
    ],
  },
}));
