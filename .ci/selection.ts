/**
 * Which long tests and subjects of the matrix a change runs only when it touches what they are about; `npm run nightly`
 * runs all of them. What lies below these folders in the arrows of ARCHITECTURE.md is proven by the tests that always
 * run as well.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { matchesGlob } from 'node:path';

export interface Selected {
  name: string;
  /** Files of tests. */
  tests: readonly string[];
  /** A group of `npm run matrix -- --without`. */
  subjects?: string;
  /** What a change of these can break, they see and no other. */
  about: readonly string[];
}

/** What every check goes through. */
const CHECKING = [
  'harness/{client,runner}',
  'harness/targets/control',
  'harness/tools/{matrix,subjects}',
  'suites/*/support',
];

export const SELECTED: readonly Selected[] = [
  {
    name: 'pages in a browser',
    tests: [
      'harness/cli/console-{demo,fleet,platform,watch}.long.test.ts',
      'harness/cli/{report,hostile}-pages.long.test.ts',
      'simulators/fleet/report/*.long.test.ts',
    ],
    about: [
      'harness/reports',
      'harness/{watch,cli/watching}',
      'simulators/console',
      'simulators/{device,platform,fleet}/**/*console*',
      'simulators/fleet/report',
    ],
  },
  {
    name: 'tests of a client under defects',
    tests: ['harness/cli/mutate.long.test.ts', 'harness/cli/mutate/*.long.test.ts', 'fixtures/mutate/*.long.test.ts'],
    about: [
      'harness/{mutate,cli/mutate,reports/mutation,targets/launch}',
      'harness/cli/commands/mutate.ts',
      'fixtures/mutate',
      'simulators/{defects,device,platform}',
    ],
  },
  {
    name: 'the site in a browser',
    tests: ['fixtures/site/*.long.test.ts'],
    about: ['fixtures/site', 'harness/reports'],
  },
  {
    name: 'containers',
    tests: [
      'harness/cli/check-*image.long.test.ts',
      'harness/cli/fleet-faults/memory.long.test.ts',
      'fixtures/{container,kubernetes}/*.long.test.ts',
    ],
    about: ['harness/targets/{client,files,launch}', 'fixtures/{container,kubernetes}'],
  },
  {
    name: 'faults under a fleet',
    tests: ['harness/cli/fleet-faults/{network,processes}.long.test.ts'],
    about: ['harness/cli/fleet-faults', 'simulators/fleet', 'simulators/device/uplink', 'simulators/platform/broker'],
  },
  {
    name: 'fleets',
    tests: ['harness/cli/{fleet,shards}.long.test.ts', 'simulators/fleet/run/*.long.test.ts'],
    about: ['harness/cli/{fleet*,commands/{fleet,merge}*}', 'simulators/{common,device,fleet,platform}'],
  },
  {
    name: 'enrolled agents',
    tests: ['harness/cli/enrol/own-platform.long.test.ts'],
    about: ['harness/cli/enrol', 'harness/targets', 'simulators/device/uplink', 'simulators/platform'],
  },
  {
    name: 'fleets on plain platforms',
    tests: ['fixtures/servers/load.long.test.ts'],
    about: ['fixtures/servers', 'simulators/plain', 'simulators/fleet', 'simulators/device/uplink'],
  },
  {
    name: 'floods',
    tests: ['harness/cli/floods.long.test.ts'],
    subjects: 'floods',
    about: [...CHECKING, 'simulators/defects/null.ts'],
  },
  {
    name: 'hostile and sleeping targets',
    tests: ['harness/cli/{asleep,cached,million-events,tls,unmarked}.long.test.ts'],
    about: [...CHECKING, 'harness/targets'],
  },
  {
    name: 'published clients',
    tests: ['fixtures/clients/clients.long.test.ts'],
    about: ['fixtures/clients', 'suites/client', 'harness/targets/client'],
  },
  {
    name: 'starved harness',
    tests: [],
    subjects: 'starved',
    about: [...CHECKING, 'harness/{common,targets,reports}'],
  },
  {
    name: 'unwilling controls',
    tests: [],
    subjects: 'unwilling',
    about: [...CHECKING, 'simulators/defects/controls.ts', 'suites/device'],
  },
  {
    name: 'slow variants',
    tests: [],
    subjects: 'slow',
    about: [...CHECKING, 'simulators/defects/**/slowness.ts'],
  },
  {
    name: 'crashes and leaks',
    tests: ['harness/tools/soak/*.long.test.ts'],
    about: ['harness/tools/soak', 'simulators/device/log', 'simulators/platform/store'],
  },
];

/**
 * For each of them, of what its tests have passed last: a digest of the files that they are about, and of their own.
 */
const PROVEN = new URL('proven.json', import.meta.url);

const git = (...words: string[]): string[] =>
  execFileSync('git', [...words, '-z'], { encoding: 'utf8', maxBuffer: 1 << 26 })
    .split('\0')
    .filter((path) => path !== '');
const untracked = (): string[] => git('ls-files', '--others', '--exclude-standard');

/** Those of the files that it is about, and those of its tests. */
const filesOf = ({ tests, about }: Selected, files: readonly string[]): string[] =>
  files.filter((file) =>
    [...tests, ...about].some((glob) => [glob, `${glob}/**`].some((one) => matchesGlob(file, one))),
  );

function digestOf(selected: Selected): string {
  const hash = createHash('sha256');
  const files = [...new Set([...git('ls-files'), ...untracked()])].filter((path) => existsSync(path)).toSorted();
  for (const glob of [...selected.tests, ...selected.about])
    if (filesOf({ ...selected, tests: [glob], about: [] }, files).length === 0)
      throw new Error(`.ci/selection.ts: ${selected.name}: nothing is ${glob}`);
  for (const path of filesOf(selected, files)) hash.update(`${path}\0`).update(readFileSync(path)).update('\0');
  return hash.digest('hex').slice(0, 16);
}

const readProven = (): Record<string, string> =>
  existsSync(PROVEN) ? (JSON.parse(readFileSync(PROVEN, 'utf8')) as Record<string, string>) : {};

/**
 * Those that the state of this checkout asks for nothing of: by what has passed, or by what differs from the commit
 * `since`.
 */
export function unchanged(since?: string): Selected[] {
  if (since === undefined) {
    const proven = readProven();
    return SELECTED.filter((selected) => proven[selected.name] === digestOf(selected));
  }
  const changed = [...git('diff', '--name-only', since), ...untracked()];
  return SELECTED.filter((selected) => filesOf(selected, changed).length === 0);
}

/** `passed`: files of tests that ran and passed; and whether the whole matrix did, but for what was `left` out. */
export function recordProven(passed: ReadonlySet<string>, matrix: boolean, left: readonly Selected[]): void {
  const now = SELECTED.filter((selected) => {
    const { tests, subjects } = selected;
    return (
      !left.includes(selected) &&
      globSync(tests).every((file) => passed.has(file)) &&
      (subjects === undefined || matrix)
    );
  });
  if (now.length === 0) return;
  const proven = { ...readProven(), ...Object.fromEntries(now.map((selected) => [selected.name, digestOf(selected)])) };
  const sorted = Object.fromEntries(Object.entries(proven).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(PROVEN, `${JSON.stringify(sorted, null, 2)}\n`);
}
