/**
 * `node .ci/steps.ts change|nightly FOLDER [--since REF]`, as `.ci/run` calls it: what a change must pass, or
 * everything. Stages run one after another. Results and the file `machine`, which says that the machine is prepared,
 * are in the folder.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { parseArgs, parseEnv } from 'node:util';
import { type Done, printReport, testResultsOf } from './report.ts';
import { recordProven, SELECTED, type Selected, unchanged } from './selection.ts';

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
/** Compares times: other tests beside it leave nothing to compare. */
const NETEM_TEST = 'simulators/fleet/robot/network.long.test.ts';
/** Its runs take minutes and hardly any processor time. */
const AGENT: Step = { name: 'published agent', command: `npm run test:all -- ${AGENT_TEST}` };

/**
 * Tests and subjects of the matrix hold bounds of time, and both could use the whole machine: beside each other they
 * would fail for want of it. Subjects that are slow or starved themselves come last, alone.
 */
function change(left: readonly Selected[]): Stage[] {
  const exclude = [AGENT_TEST, NETEM_TEST, ...left.flatMap(({ tests }) => tests)]
    .map((path) => ` --exclude '${path}'`)
    .join('');
  const groups = SELECTED.flatMap(({ subjects = [] }) => subjects);
  const seldom = SELECTED.filter((selected) => !left.includes(selected)).flatMap(({ subjects = [] }) => subjects);
  const matrix = (api: string, concurrency: number): Step => ({
    name: `matrix ${api}`,
    command: `npm run matrix -- --api ${api} --concurrency ${concurrency} --without ${groups.join()}`,
  });
  return [
    BUILD,
    [[AGENT], [{ name: 'tests', command: `npm run test:all --${exclude}` }]],
    // Devices are asked how fast they publish: two lanes that fill the machine would make them slow.
    [[matrix('device', 5)], [matrix('client', 12), matrix('system', 8)]],
    [
      [matrix('platform', 5)],
      [pairs(`10 --seed ${seedOf('suites')}`)],
      [{ name: 'fuzz', command: `npm run fuzz -- --minutes 0.17 --at-once 1 --seed ${seedOf('harness')}`, nice: 15 }],
    ],
    ...(seldom.length === 0 ? [] : [[[seldomSubjects(seldom)]]]),
  ];
}

/** So many pairs of defects of each suite: none may hide the other. */
const pairs = (most: string): Step => ({ name: 'matrix pairs', command: `npm run matrix -- --fast --pairs ${most}` });

/** New inputs for each change of a folder, and the same ones when its run is repeated. */
const seedOf = (folder: string): number =>
  Number.parseInt(execFileSync('git', ['rev-parse', `HEAD:${folder}`], { encoding: 'utf8' }).slice(0, 7), 16);

const seldomSubjects = (groups: readonly string[]): Step => ({
  name: 'matrix seldom',
  command: `npm run matrix -- --within ${groups.join()} --concurrency 5`,
});

/** Most of it one after another: what takes the whole machine says nothing beside others. */
function nightly(): Stage[] {
  const shuffle = `--isolate --sequence.shuffle --sequence.seed ${Date.now() % 2 ** 31}`;
  const alone: Step[] = [
    { name: 'netem', command: `npm run test:all -- ${NETEM_TEST}` },
    { name: 'matrix', command: 'npm run matrix -- --timed 12' },
    // A new sample every night: all pairs would take days, and all mutants hours.
    pairs('40'),
    // The share of a sample varies, so its bound is lower.
    { name: 'mutants', command: 'npm run mutants -- --sample 16 --least 80' },
    { name: 'fuzz', command: 'npm run fuzz -- --minutes 1' },
    { name: 'soak', command: 'npm run soak -- --minutes 10' },
    { name: 'soak kills', command: 'npm run soak -- kills --rounds 100' },
    { name: 'soak ends', command: 'npm run soak -- kills --ends 200' },
    { name: 'soak crash', command: 'npm run soak -- crash --points 1000' },
    { name: 'soak faults', command: 'npm run soak -- faults --robots 1000' },
    { name: 'soak watch', command: 'npm run soak -- watch --minutes 5' },
    { name: 'bench', command: 'npm run bench' },
    { name: 'package', command: 'npm run try-package' },
    { name: 'cluster', command: 'npm run test:cluster' },
  ];
  return [
    BUILD,
    [
      [AGENT],
      [
        { name: 'short, shuffled', command: `npm test -- ${shuffle}` },
        {
          name: 'tests',
          command: `npm run test:all -- --project long --exclude ${AGENT_TEST} --exclude ${NETEM_TEST}`,
        },
      ],
    ],
    [alone],
  ];
}

const { positionals, values } = parseArgs({ allowPositionals: true, options: { since: { type: 'string' } } });
const [mode = 'change', folder = '.'] = positionals;
const left = mode === 'nightly' ? [] : unchanged(values.since);
const stages = mode === 'nightly' ? nightly() : change(left);

const done: Done[] = [];
for (const [index, stage] of stages.entries()) {
  if (index === 1) await machinePrepared();
  await Promise.all(stage.map(runLane));
}
const since = values.since === undefined ? 'since it passed last' : `since ${values.since}`;
const leftOut = left.map(({ name, about }) => `${name}: nothing has changed ${since} in ${about.join(', ')}`);
process.exitCode = printReport(done, leftOut);
const matrix = done.filter(({ name }) => name.startsWith('matrix'));
recordProven(passedFiles(), matrix.length > 0 && matrix.every(({ code }) => code === 0), left);
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
