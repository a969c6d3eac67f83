/**
 * `node .ci/steps.ts change|nightly FOLDER [--since REF]`, as `.ci/run` calls it: what a change must pass, or everything. Stages run one
 * after another. Results and the file `machine`, which says that the machine is prepared, are in the folder.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { parseArgs, parseEnv } from 'node:util';
import { type Done, printReport, testResultsOf } from './report.ts';
import { recordProven, unchanged } from './selection.ts';

interface Step {
  name: string;
  /** A line of a shell. */
  command: string;
  /** How little of the processor it gets when others want it too, up to 19. */
  nice?: number;
}

/** Steps of a lane run one after another, lanes of a stage beside each other. */
type Stage = readonly (readonly Step[])[];

const BUILD: Stage = [
  [
    { name: 'types', command: 'npm run types' },
    { name: 'build', command: 'npm run build' },
  ],
  [
    { name: 'lint', command: 'npm run lint' },
    { name: 'unused', command: 'npm run unused' },
    { name: 'licences', command: 'npm run licences' },
    { name: 'audit', command: '.ci/audit' },
  ],
];

const AGENT_TEST = 'harness/cli/enrol/real-agent.long.test.ts';
/** Its runs take minutes and hardly any processor time. */
const AGENT: Step = { name: 'published agent', command: `npm run test:all -- ${AGENT_TEST}` };

/** Tests hold bounds of time, so what runs beside them takes the processor when they leave it. */
const change = (excluded: string): Stage[] => [
  BUILD,
  [
    [AGENT],
    [{ name: 'tests', command: `npm run test:all -- --exclude ${AGENT_TEST}${excluded}` }],
    [
      { name: 'matrix device', command: 'npm run matrix -- --api device --concurrency 5', nice: 5 },
      { name: 'matrix client', command: 'npm run matrix -- --api client --concurrency 12', nice: 5 },
    ],
    [
      { name: 'matrix platform', command: 'npm run matrix -- --api platform --concurrency 5', nice: 5 },
      { name: 'matrix system', command: 'npm run matrix -- --api system --concurrency 8', nice: 5 },
    ],
    [{ name: 'fuzz', command: 'npm run fuzz -- --minutes 0.17 --at-once 1', nice: 15 }],
  ],
];

const seed = Date.now() % 2 ** 31;
const nightly = (): Stage[] => [
  BUILD,
  [
    [AGENT],
    [
      { name: 'short, shuffled', command: `npm test -- --isolate --sequence.shuffle --sequence.seed ${seed}` },
      { name: 'tests', command: `npm run test:all -- --exclude ${AGENT_TEST}` },
    ],
  ],
  [[{ name: 'matrix', command: 'npm run matrix -- --timed 12' }]],
  [[{ name: 'fuzz', command: 'npm run fuzz -- --minutes 5' }]],
  [
    [
      { name: 'soak', command: 'npm run soak' },
      { name: 'soak kills', command: 'npm run soak -- kills' },
      { name: 'soak crash', command: 'npm run soak -- crash' },
      { name: 'soak faults', command: 'npm run soak -- faults' },
    ],
  ],
  [[{ name: 'bench', command: 'npm run bench' }]],
  [[{ name: 'package', command: 'npm run try-package' }]],
  [[{ name: 'cluster', command: 'npm run test:cluster' }]],
];

const { positionals, values } = parseArgs({ allowPositionals: true, options: { since: { type: 'string' } } });
const [mode = 'change', folder = '.'] = positionals;
const left = mode === 'nightly' ? [] : unchanged(values.since);
const excluded = left.flatMap(({ tests }) => tests.map((path) => ` --exclude '${path}'`)).join('');
const stages = mode === 'nightly' ? nightly() : change(excluded);
const said = values.since === undefined ? 'its folders are as they were when it passed last' : `as at ${values.since}`;

const done: Done[] = [];
for (const [index, stage] of stages.entries()) {
  if (index === 1) await machinePrepared();
  await Promise.all(stage.map(runLane));
}
const leftOut = left.map(({ name, tests }) => `${name}: ${said} (${tests.join(', ')})`);
process.exitCode = printReport(done, leftOut);
recordProven(passedFiles());
if (mode === 'nightly') recordSeconds();

/** Takes the environment that tests need from the file that says so. */
async function machinePrepared(): Promise<void> {
  const file = join(folder, 'machine');
  while (!existsSync(file)) await setTimeout(200);
  Object.assign(process.env, parseEnv(readFileSync(file, 'utf8')));
}

async function runLane(lane: readonly Step[]): Promise<void> {
  for (const step of lane) done.push(await runStep(step));
}

async function runStep({ name, command, nice = 0 }: Step): Promise<Done> {
  const results = join(folder, `${name.replaceAll(/\W+/g, '-')}.json`);
  const started = performance.now();
  const child = spawn('nice', ['-n', String(nice), 'sh', '-c', `exec ${command}`], {
    env: { ...process.env, MUSTER_TEST_RESULTS: results },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const code = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve(status ?? 1));
  });
  const durationMs = performance.now() - started;
  process.stdout.write(`== ${name}: ${command}\n${output}`);
  return { name, code, output, durationMs, results };
}

/** Files whose tests ran, and passed. */
function passedFiles(): Set<string> {
  const files = done.flatMap((step) => testResultsOf(step)?.testResults ?? []);
  const passed = files.filter(
    ({ assertionResults: tests }) =>
      tests.some(({ status }) => status === 'passed') && tests.every(({ status }) => status !== 'failed'),
  );
  return new Set(passed.map(({ name }) => relative('.', name)));
}

/** For the order of the tests in checkouts that have run none of them. */
function recordSeconds(): void {
  const files = done.flatMap((step) => testResultsOf(step)?.testResults ?? []);
  const took = files.map(({ name, startTime = 0, endTime = 0 }): [string, number] => [
    relative('.', name),
    Math.round((endTime - startTime) / 1000),
  ]);
  const long = took.filter(([, seconds]) => seconds >= 5).toSorted((a, b) => b[1] - a[1]);
  writeFileSync(new URL('seconds.json', import.meta.url), `${JSON.stringify(Object.fromEntries(long), null, 2)}\n`);
}
