/**
 * `npm run flake`: the reference simulators, checked again and again by the command itself while busy loops take up every core. No
 * outcome may change.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { TRANSPORTS, type TransportName } from '../../../simulators/device/transport/index.ts';
import { readableDuration } from '../../common/durations.ts';
import { SUPPORTED_VERSIONS } from '../../contract/versions.ts';
import type { CheckResult, Report } from '../../runner/types.ts';
import { countOf, inParallel, toolOptions } from '../options.ts';
import { KEY, LIMITED_KEY, startRobot, startWorkspace } from './simulated.ts';

const HELP = `npm run flake -- [options]
  --runs N                 of each API (50), spread over transports and versions
  --busy N                 busy loops beside them (one a core)
  --at-once N              runs at once (2)
  --api device|platform    one of them
`;
const CLI = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));

const values = toolOptions(HELP, {
  runs: { type: 'string', default: '50' },
  busy: { type: 'string', default: String(availableParallelism()) },
  'at-once': { type: 'string', default: '2' },
  api: { type: 'string' },
});

/** One target and way to check it. Every run of it must have the same outcomes. */
interface Course {
  name: string;
  run(seed: number): Promise<Report>;
}

const device = (transport: TransportName): Course => ({
  name: `device over ${transport}`,
  run: async (seed) => {
    await using robot = await startRobot({ transport });
    const place = Object.entries(robot.place).flatMap(([name, value]) => [`--${name}`, value]);
    return await check('device', [...place, '--seed', String(seed)]);
  },
});

const platform = (version: string): Course => ({
  name: `platform in ${version}`,
  run: async (seed) => {
    await using workspace = await startWorkspace({});
    const { id = '' } = await workspace.create('/devices', { name: 'never-online' });
    const keys = ['--api-key', KEY, '--limited-key', LIMITED_KEY];
    const devices = ['--online-device', workspace.deviceId, '--offline-device', id];
    const url = ['--url', workspace.platform.url, '--api-version', version];
    return await check('platform', [...url, ...keys, ...devices, '--seed', String(seed)]);
  },
});

async function check(api: string, words: readonly string[]): Promise<Report> {
  using folder = scratch();
  const file = join(folder.path, 'report.json');
  const child = spawn(process.execPath, [CLI, 'check', api, ...words, '--report', `json=${file}`], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (part) => (errors += part));
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('exit', resolve));
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Report;
  } catch (error) {
    throw new Error(`check ${api} ended with ${code} and left no report: ${errors}`, { cause: error });
  }
}

/** Results that differ from the first run of the course, and everything red. */
function changes(first: Report | undefined, report: Report): CheckResult[] {
  const before = new Map(first?.checks.map(({ id, outcome }) => [id, outcome]));
  return report.checks.filter(
    ({ id, outcome }) => !['pass', 'not_applicable'].includes(outcome) || (before.get(id) ?? outcome) !== outcome,
  );
}

const courses = [
  ...TRANSPORTS.map(({ name }) => ({ api: 'device', course: device(name) })),
  ...SUPPORTED_VERSIONS.map((version) => ({ api: 'platform', course: platform(version) })),
].filter(({ api }) => (values.api ?? api) === api);
const runs = [...new Set(courses.map(({ api }) => api))].flatMap((api) => {
  const own = courses.filter((each) => each.api === api);
  return Array.from({ length: countOf('runs', values.runs, HELP) }, (_, seed) => ({
    seed,
    course: own[seed % own.length]?.course,
  }));
});

/** Ends by itself when this process is gone. */
const BUSY = 'const { ppid } = process; while (process.ppid === ppid) for (let i = 0; i < 1e8; i++);';
const loops = Array.from({ length: countOf('busy', values.busy, HELP, 0) }, () =>
  spawn(process.execPath, ['-e', BUSY], { stdio: 'ignore' }),
);
const started = performance.now();
const first = new Map<Course, Report>();
const longest = new Map<Course, number>();
let changed = 0;
try {
  await inParallel(runs, countOf('at-once', values['at-once'], HELP), async ({ seed, course }) => {
    if (course === undefined) return;
    const report = await course.run(seed);
    const found = changes(first.get(course), report);
    if (!first.has(course)) first.set(course, report);
    longest.set(course, Math.max(longest.get(course) ?? 0, report.duration_ms));
    changed += found.length > 0 ? 1 : 0;
    for (const { id, outcome, expected, actual, reason, counterexample } of found) {
      const why = reason ?? `expected ${expected}; actual: ${actual}; counterexample: ${String(counterexample)}`;
      process.stdout.write(`✗ ${course.name}, seed ${seed}: ${outcome} ${id}: ${why}\n`);
    }
  });
} finally {
  for (const loop of loops) loop.kill('SIGKILL');
}
for (const { course } of courses) {
  const checks = first.get(course)?.checks.filter(({ outcome }) => outcome === 'pass').length ?? 0;
  const slowest = readableDuration(longest.get(course) ?? 0);
  process.stdout.write(`${course.name.padEnd(34)} ${checks} checks pass in the first run; slowest run ${slowest}\n`);
}
process.stdout.write(
  `${runs.length} runs beside ${loops.length} busy loops in ${readableDuration(performance.now() - started)}: ${changed} with a change of any outcome\n`,
);
process.exitCode = changed > 0 ? 1 : 0;
