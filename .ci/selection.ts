/**
 * Which long tests and subjects a change runs only when it touches what they are about; `npm run nightly` runs all of them. What lies
 * below these folders in the arrows of ARCHITECTURE.md is proven by the tests that always run as well.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';

export interface Selected {
  name: string;
  /** Files of tests. */
  tests: readonly string[];
  /** What a change of these can break, the tests see and no other. */
  about: readonly string[];
}

export const SELECTED: readonly Selected[] = [
  {
    name: 'pages in a browser',
    tests: [
      'harness/cli/console-*.long.test.ts',
      'harness/cli/report-pages.long.test.ts',
      'simulators/fleet/report/report-page.long.test.ts',
    ],
    about: [
      'harness/reports',
      'simulators/console',
      'simulators/device/process',
      'simulators/fleet/console',
      'simulators/fleet/report',
      'simulators/platform/console',
    ],
  },
  {
    name: 'containers',
    tests: [
      'harness/cli/check-*image.long.test.ts',
      'fixtures/kubernetes/job.long.test.ts',
      'harness/cli/fleet-faults/memory.long.test.ts',
    ],
    about: ['harness/targets/launch', 'harness/targets/files', 'fixtures/container', 'fixtures/kubernetes'],
  },
];

/** For each of them, of what its tests have passed last: a digest of the files that they are about, and of their own. */
const PROVEN = new URL('proven.json', import.meta.url);

const git = (...words: string[]): string[] =>
  execFileSync('git', words, { encoding: 'utf8', maxBuffer: 1 << 26 })
    .split('\0')
    .filter((path) => path !== '');

function filesOf({ name, tests, about }: Selected): string[] {
  const files = [...tests, ...about].flatMap((path) => {
    const found = git('ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', path);
    if (found.length === 0) throw new Error(`.ci/selection.ts: ${name}: there is no ${path}`);
    return found;
  });
  return [...new Set(files)].filter((path) => existsSync(path)).toSorted();
}

export function digestOf(selected: Selected): string {
  const hash = createHash('sha256');
  for (const path of filesOf(selected)) hash.update(`${path}\0`).update(readFileSync(path)).update('\0');
  return hash.digest('hex').slice(0, 16);
}

const readProven = (): Record<string, string> =>
  existsSync(PROVEN) ? (JSON.parse(readFileSync(PROVEN, 'utf8')) as Record<string, string>) : {};

/** Those that the state of this checkout asks for nothing of: by what has passed, or by what differs from the commit `since`. */
export function unchanged(since?: string): Selected[] {
  if (since === undefined) {
    const proven = readProven();
    return SELECTED.filter((selected) => proven[selected.name] === digestOf(selected));
  }
  return SELECTED.filter(({ tests, about }) => {
    const paths = ['--', ...tests, ...about];
    const changed = git('diff', '-z', '--name-only', since, ...paths);
    return [...changed, ...git('ls-files', '-z', '--others', '--exclude-standard', ...paths)].length === 0;
  });
}

/** `passed`: files of which every test has passed, and at least one ran. */
export function recordProven(passed: ReadonlySet<string>): void {
  const now = SELECTED.filter(({ tests }) => globSync(tests).every((file) => passed.has(file)));
  if (now.length === 0) return;
  const proven = { ...readProven(), ...Object.fromEntries(now.map((selected) => [selected.name, digestOf(selected)])) };
  const sorted = Object.fromEntries(Object.entries(proven).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(PROVEN, `${JSON.stringify(sorted, null, 2)}\n`);
}
