/**
 * `npm run fuzz`: hostile inputs with a structure against the servers, the clients and the parsers, each kind in a
 * process of its own. A find is shrunk and kept in `fixtures/fuzz/`, where a test attacks with it again.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { readableDuration } from '../../common/durations.ts';
import { Task, TaskEnded } from '../measure/process.ts';
import { countOf, inParallel, refuse, toolOptions } from '../options.ts';
import { FIXTURES, type Find, keep } from './engine.ts';
import { FUZZERS, type FuzzNote, type tasks } from './fuzzers.ts';

/** What came of a fuzzer. */
interface FuzzResult {
  name: string;
  tried: number;
  again: number;
  finds: (Find & { file: string })[];
}

/** Longer than any attack may take; only what blocks the process is left to this. */
const SILENCE_MS = 240_000;

const width = Math.max(...FUZZERS.map(({ name }) => name.length));
const HELP = `npm run fuzz -- [NAME…] [options]

${FUZZERS.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}\n`).join('')}
  --minutes N   of each (1)
  --seed S      the same inputs for the same seed (drawn, and printed)
  --at-once N   processes at once (2)
  --out FOLDER  where finds are kept (fixtures/fuzz)

Exit codes: 0 everything held, 1 something was found, 64 usage error.
`;
const MINUTE_MS = 60_000;

const words = process.argv.slice(2);
const names = namesIn(words);
const values = toolOptions(
  HELP,
  {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string' },
    'at-once': { type: 'string', default: '2' },
    out: { type: 'string', default: FIXTURES },
  },
  words.filter((word) => !names.includes(word)),
);
const ms = Number(values.minutes) * MINUTE_MS;
if (!(ms > 0)) refuse(`--minutes ${values.minutes}: must be a number above 0`, HELP);
const seed = countOf('seed', values.seed ?? String(Date.now() % 2 ** 31), HELP, 0);
const chosen = FUZZERS.filter(({ name }) => names.length === 0 || names.includes(name));

/** Words that are no option and no value of one. */
function namesIn(all: readonly string[]): string[] {
  const { positionals } = parseArgs({
    args: [...all],
    strict: false,
    allowPositionals: true,
    options: Object.fromEntries(['minutes', 'seed', 'at-once', 'out'].map((name) => [name, { type: 'string' }])),
  });
  const unknown = positionals.find((word) => FUZZERS.every(({ name }) => name !== word));
  if (unknown !== undefined) refuse(`${unknown}: unknown`, HELP);
  return positionals;
}

const started = performance.now();
const results: FuzzResult[] = [];
process.stdout.write(`seed ${seed}, ${readableDuration(ms)} each\n`);
await inParallel(chosen, countOf('at-once', values['at-once'], HELP), async ({ name }) => {
  const result = await runFuzzer(name);
  results.push(result);
  const { tried, finds, again } = result;
  const mark = finds.length === 0 ? '✓' : '✗';
  const rate = Math.round((1000 * tried) / ms).toLocaleString('en');
  const more = again > 0 ? `, shown by ${again.toLocaleString('en')} more inputs` : '';
  const counted = `${tried.toLocaleString('en').padStart(11)} inputs (${rate} a second)`;
  process.stdout.write(`${mark} ${name.padEnd(width)} ${counted}, ${finds.length} finds${more}\n`);
  for (const { wrong, file } of finds) process.stdout.write(`    ${wrong}\n    ${relative('.', file)}\n`);
});
const finds = results.flatMap((result) => result.finds);
const tried = results.reduce((sum, result) => sum + result.tried, 0);
process.stdout.write(
  `${tried.toLocaleString('en')} inputs in ${readableDuration(performance.now() - started)}: ${finds.length} finds\n`,
);
const report = process.env['MUSTER_TEST_RESULTS'];
if (report !== undefined) writeFileSync(report, JSON.stringify(asTestResults()));
process.exitCode = finds.length > 0 ? 1 : 0;

/** Resolves when its process has ended: by itself, by what it found, or because it said nothing for too long. */
async function runFuzzer(name: string): Promise<FuzzResult> {
  using folder = scratch();
  const current = join(folder.path, 'current.json');
  // A process that dies leaves the folders of its subjects.
  const tmp = join(folder.path, 'tmp');
  mkdirSync(tmp);
  const result: FuzzResult = { name, tried: 0, again: 0, finds: [] };
  const found = (wrong: string, input: unknown): void => {
    const find = { fuzzer: name, wrong, input };
    result.finds.push({ ...find, file: keep(find, values.out) });
  };
  let blocked = false;
  const onNote = (note: FuzzNote): void => {
    silent.refresh();
    if ('find' in note) found(note.find.wrong, note.find.input);
    else result.tried = note.tried;
  };
  await using task = new Task<typeof tasks>(new URL('./fuzzers.ts', import.meta.url).href, {
    env: { TMPDIR: tmp },
    onNote,
  });
  const silent = setTimeout(() => {
    blocked = true;
    task.kill();
  }, SILENCE_MS);
  try {
    Object.assign(result, await task.call('attack', name, seed, ms, current));
  } catch (error) {
    if (!(error instanceof TaskEnded)) throw error;
    const how = blocked ? 'it blocks the process for ever' : `it ends the process with ${error.message}`;
    const input = lastInput(current);
    if (input === undefined) throw new Error(`the fuzzer ${name} did not come to its first input: ${how}`);
    found(how, input);
  } finally {
    clearTimeout(silent);
  }
  return result;
}

function lastInput(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/** As vitest reports tests, for `.ci/run`: a fuzzer counts as one, and each find as one that failed. */
function asTestResults(): object {
  return {
    numPassedTests: results.filter((result) => result.finds.length === 0).length,
    numFailedTests: finds.length,
    testResults: [
      {
        name: 'harness/tools/fuzz/run.ts',
        assertionResults: finds.map(({ fuzzer, wrong, file }) => ({
          fullName: `${fuzzer}, seed ${seed}`,
          status: 'failed',
          failureMessages: [`${wrong}\n${file}`],
        })),
      },
    ],
  };
}
