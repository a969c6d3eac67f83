/**
 * `npm run fuzz`: attacks servers, clients and parsers with random inputs.
 * Stores the smallest failing inputs in `fixtures/fuzz/`.
 */

import { mkdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import process from 'node:process';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { readableDuration } from '../../common/durations.ts';
import { inParallel } from '../../common/parallel.ts';
import { Task, TaskEnded } from '../measure/process.ts';
import { amount, count, seed, toolOptions, writeTestResults } from '../options.ts';
import { FIXTURES, type Find, writeFind } from './engine.ts';
import { FUZZERS, type FuzzNote, type tasks } from './fuzzers.ts';

interface FuzzResult {
  name: string;
  tried: number;
  repeated: number;
  finds: (Find & { file: string })[];
}

/** Milliseconds of silence after which a process counts as blocked; no attack takes so long. */
const SILENCE_MS = 240_000;

const NAMES = FUZZERS.map(({ name }) => name);
const width = Math.max(...NAMES.map(({ length }) => length));
const USAGE = `npm run fuzz -- [NAME…] [options]

${FUZZERS.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}\n`).join('')}
Exit codes: 0 everything held, 1 something was found, 64 usage error.`;

const values = toolOptions(
  USAGE,
  {
    minutes: amount('minutes of each', 1),
    seed: seed('the same inputs for the same seed'),
    'at-once': count('processes at once', 2),
  },
  { loose: NAMES },
);
const ms = values.minutes * 60_000;
const chosen = NAMES.filter((name) => values._.length === 0 || values._.includes(name));

const started = performance.now();
const results: FuzzResult[] = [];
process.stdout.write(`seed ${values.seed}, ${readableDuration(ms)} each\n`);
await inParallel(chosen, values['at-once'], async (name) => {
  const result = await runFuzzer(name);
  results.push(result);
  const { tried, finds, repeated } = result;
  const mark = finds.length === 0 ? '✓' : '✗';
  const rate = Math.round((1000 * tried) / ms).toLocaleString('en');
  const more = repeated > 0 ? `, shown by ${repeated.toLocaleString('en')} more inputs` : '';
  const counted = `${tried.toLocaleString('en').padStart(11)} inputs (${rate} a second)`;
  process.stdout.write(`${mark} ${name.padEnd(width)} ${counted}, ${finds.length} finds${more}\n`);
  for (const { wrong, file } of finds) process.stdout.write(`    ${wrong}\n    ${relative('.', file)}\n`);
});
const finds = results.flatMap((result) => result.finds);
const tried = results.reduce((sum, result) => sum + result.tried, 0);
process.stdout.write(
  `${tried.toLocaleString('en')} inputs in ${readableDuration(performance.now() - started)}: ${finds.length} finds\n`,
);
writeTestResults(
  'harness/tools/fuzz/run.ts',
  results.filter((result) => result.finds.length === 0).length,
  finds.map(({ fuzzer, wrong, file }) => ({
    fullName: `${fuzzer}, seed ${values.seed}`,
    failureMessages: [`${wrong}\n${file}`],
  })),
);
process.exitCode = finds.length > 0 ? 1 : 0;

/** Runs a fuzzer in a separate process; an input that kills or blocks the process counts as a failure. */
async function runFuzzer(name: string): Promise<FuzzResult> {
  using folder = scratch();
  const current = join(folder.path, 'current.json');
  // Folder for temporary files, removed with `folder` even if the process was killed.
  const tmp = join(folder.path, 'tmp');
  mkdirSync(tmp);
  const result: FuzzResult = { name, tried: 0, repeated: 0, finds: [] };
  const found = (wrong: string, input: unknown): void => {
    const find = { fuzzer: name, wrong, input };
    result.finds.push({ ...find, file: writeFind(find, FIXTURES) });
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
    Object.assign(result, await task.call('attack', name, values.seed, ms, current));
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
