/**
 * `npm run fuzz`: hostile inputs with a structure against the servers, the clients and the parsers, each kind in a process of its own. A find is
 * shrunk and kept in `fixtures/fuzz/`, where a test attacks with it again.
 */
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { readableDuration } from '../../common/durations.ts';
import { countOf, inParallel, refuse, toolOptions } from '../options.ts';
import { FIXTURES } from './finds.ts';
import { FUZZERS } from './fuzzers/index.ts';
import { type FuzzResult, runFuzzer } from './process.ts';

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
  const result = await runFuzzer({ name, seed, ms, out: values.out });
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
