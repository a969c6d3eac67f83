/**
 * Runs the steps of `.ci/run`: `node .ci/steps.ts change|nightly FOLDER`. FOLDER gets the results; its file `machine`
 * sets the environment of the tests.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { parseEnv } from 'node:util';
import { type EndedStep, printReport, testResultsOf } from './report.ts';
import { codeSizeTable } from './weight.ts';

interface Step {
  name: string;
  command: string;
}

type Work = Step | { inOrder: readonly Work[] } | { atOnce: readonly Work[] };
const inOrder = (...works: Work[]): Work => ({ inOrder: works });
const atOnce = (...works: Work[]): Work => ({ atOnce: works });

const BUILD = atOnce(
  inOrder({ name: 'types', command: 'npm run types' }, { name: 'build', command: 'npm run build' }),
  inOrder(
    { name: 'lint', command: 'npm run lint' },
    { name: 'unused', command: 'npm run unused' },
    { name: 'licences', command: 'npm run licences' },
    { name: 'audit', command: '.ci/audit' },
  ),
);

const AGENT_TEST = 'harness/cli/enrol/real-agent.long.test.ts';
/** Tests that measure durations and therefore run alone. */
const TIMED_TESTS = ['harness/cli/readme.nightly.test.ts'];
/** Test of the published agent, which mostly waits and therefore runs beside all other steps. */
const AGENT: Step = { name: 'published agent', command: `npm run test:all -- ${AGENT_TEST}` };

/** Number of similar subjects of which the matrix draws one; each requirement keeps at least one defect. */
const SHARE = 4;

/** Derives the seed from the folder of the suites in git, so that a repeated run draws the same sample. */
const SEED = Number.parseInt(execFileSync('git', ['rev-parse', 'HEAD:suites'], { encoding: 'utf8' }).slice(0, 7), 16);

const matrix = (api: string, concurrency: number, kinds?: string): Step => ({
  name: ['matrix', api, ...(kinds === undefined ? [] : [kinds])].join(' '),
  command: [
    `npm run matrix -- --api ${api} --concurrency ${concurrency} --sample ${SHARE} --seed ${SEED}`,
    ...(kinds === undefined ? [] : [`--kind ${kinds}`]),
  ].join(' '),
});

/** Runs the matrix after the tests, because both have time limits and use the whole machine. */
function change(): Work {
  return atOnce(
    AGENT,
    inOrder(
      { name: 'tests', command: `npm run test:all -- --project short --project long --exclude ${AGENT_TEST}` },
      // Checks the correct simulated device alone, because these checks need many events a second.
      matrix('device', 3, 'reference'),
      // Runs three matrices at once, because each is a single process and simulated devices mostly wait.
      atOnce(
        matrix('device', 5, 'defect,variant,null,unwilling,starved'),
        inOrder(matrix('client', 12), matrix('system', 8), matrix('platform', 3, 'defect')),
        matrix('platform', 4, 'reference,variant,null'),
      ),
    ),
  );
}

/** Runs most steps alone, because other work distorts measurements. */
function nightly(): Work {
  const elsewhere = [AGENT_TEST, ...TIMED_TESTS].map((file) => `--exclude ${file}`).join(' ');
  const shuffle = `--isolate --sequence.shuffle --sequence.seed ${Date.now() % 2 ** 31}`;
  const afterTests: Work[] = [
    { name: 'timed tests', command: `npm run test:all -- --no-file-parallelism ${TIMED_TESTS.join(' ')}` },
    { name: 'matrix', command: 'npm run matrix -- --timed 12' },
    // Draws 20 pairs of defects, because all pairs would take days.
    { name: 'matrix pairs', command: 'npm run matrix -- --fast --pairs 20' },
    // Accepts a score of 80 % instead of 95 %, because a sample of 16 mutants varies.
    { name: 'mutants', command: 'npm run mutants -- --sample 16 --least 80' },
    // Tries the package and the site beside a soak, which mostly waits.
    atOnce(
      { name: 'soak', command: 'npm run soak -- --minutes 10' },
      inOrder({ name: 'package', command: 'npm run try-package' }, { name: 'site', command: 'npm run site' }),
    ),
    { name: 'soak ends', command: 'npm run soak -- ends' },
    { name: 'soak crash', command: 'npm run soak -- crash --points 1000' },
    { name: 'soak faults', command: 'npm run soak -- faults --robots 1000' },
    { name: 'soak watch', command: 'npm run soak -- watch --minutes 5' },
    { name: 'bench', command: 'npm run bench' },
  ];
  const tests = inOrder(
    { name: 'short, shuffled', command: `npm test -- ${shuffle}` },
    { name: 'tests', command: `npm run test:all -- --project long --project nightly ${elsewhere}` },
  );
  return inOrder(atOnce(AGENT, tests), ...afterTests);
}

const [mode = 'change', folder = '.'] = process.argv.slice(2);
const done: EndedStep[] = [];
await run(BUILD);
await machinePrepared();
await run(mode === 'nightly' ? nightly() : change());
process.exitCode = printReport(done, codeSizeTable());
if (mode === 'nightly') recordSeconds();

async function machinePrepared(): Promise<void> {
  const file = join(folder, 'machine');
  while (!existsSync(file)) await setTimeout(200);
  Object.assign(process.env, parseEnv(readFileSync(file, 'utf8')));
}

async function run(work: Work): Promise<void> {
  if ('atOnce' in work) await Promise.all(work.atOnce.map(run));
  else if ('inOrder' in work) for (const each of work.inOrder) await run(each);
  else done.push(await runStep(work));
}

async function runStep({ name, command }: Step): Promise<EndedStep> {
  const results = join(folder, `${name.replaceAll(/\W+/g, '-')}.json`);
  const started = performance.now();
  const child = spawn('sh', ['-c', `exec ${command}`], {
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

/** Writes seconds of test files from 5 s on to `seconds.json`, so that a fresh checkout starts the longest first. */
function recordSeconds(): void {
  const files = done.flatMap((step) => testResultsOf(step)?.testResults ?? []);
  const took = files.map(({ name, startTime = 0, endTime = 0 }): [string, number] => [
    relative('.', name),
    Math.round((endTime - startTime) / 1000),
  ]);
  const long = took.filter(([, seconds]) => seconds >= 5).toSorted((a, b) => b[1] - a[1]);
  writeFileSync(new URL('seconds.json', import.meta.url), `${JSON.stringify(Object.fromEntries(long), null, 2)}\n`);
}
