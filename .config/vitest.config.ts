import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { relative } from 'node:path';
import process from 'node:process';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ROOT = new URL('..', import.meta.url).pathname;
/** Where to write the results as JSON, for `.ci/run`. */
const results = process.env['MUSTER_TEST_RESULTS'];

/** Tests of many seconds (browser, containers, crash loops), which guard a change. */
const LONG_TESTS = '**/*.long.test.ts';
/** Tests of minutes, which a release needs: floods, sleeping machines, whole networks of faults. */
const NIGHTLY_TESTS = '**/*.nightly.test.ts';

/** Of long tests: what a nightly run took, for checkouts that have run nothing yet. */
const SECONDS = JSON.parse(readFileSync(new URL('../.ci/seconds.json', import.meta.url), 'utf8')) as Record<
  string,
  number
>;

/** Taken for a long test that is not among them. */
const NEW_SECONDS = 60;

/** The long tests first, of these and of the short ones the longest: at the end nothing is left to wait for alone. */
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

// Types are stripped and modules compiled once for all workers, and for the processes that tests start: half of their
// start is that.
process.env['NODE_COMPILE_CACHE'] ??= new URL('../node_modules/.cache/muster', import.meta.url).pathname;

// What runs of tests remember is none of the user's.
process.env['XDG_STATE_HOME'] = new URL('../node_modules/.cache/muster-state', import.meta.url).pathname;

const FOLDERS = ['harness', 'simulators', 'suites', 'fixtures'];

const long = (name: string, files: string) => ({
  extends: true as const,
  test: { name, include: FOLDERS.map((folder) => `${folder}/${files}`) },
});

export default defineConfig(({ mode }) => ({
  root: ROOT,
  test: {
    // Generous on purpose: no test asserts a duration by it, it only ends what hangs.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    pool: 'forks',
    // Tests wait for sockets and processes: short ones a third of their time, long ones most of it. On two cores, six
    // workers took as long as four.
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
          // Half of their time went into a process and a graph of modules for each; `npm run nightly` runs each in its
          // own.
          isolate: false,
        },
      },
      ...(mode === 'all' ? [long('long', LONG_TESTS), long('nightly', NIGHTLY_TESTS)] : []),
    ],
  },
}));
