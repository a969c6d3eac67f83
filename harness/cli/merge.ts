/** `muster merge`: one result from the shards of a fleet run. */

import { existsSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import process from 'node:process';
import type { CommandModule } from 'yargs';
import { reportHtml } from '../../simulators/fleet/report/report.ts';
import { MergeError, mergeResults } from '../../simulators/fleet/result/merge.ts';
import { exitCode } from '../../simulators/fleet/result/result.ts';
import {
  findShards,
  ResultError,
  watchShards,
  writeAtomically,
  writeResult,
} from '../../simulators/fleet/result/shards.ts';
import { durationMs } from '../common/durations.ts';
import { UsageError } from '../common/usage-error.ts';
import { painter } from '../reports/style.ts';
import { interruptSignal, typed } from './check-options.ts';
import { EXIT } from './exit.ts';
import { thresholdsFrom, whole } from './fleet-options.ts';
import { summaryText } from './fleet-summary.ts';

interface Arguments {
  dir: string[];
  expect?: number;
  watch: boolean;
  timeout: string;
  'dead-after': string;
  threshold?: string[];
  out?: string;
}

const LOOK_EVERY_MS = 1000;
/** Where a fleet leaves its result too. */
const APART = 'muster-report/fleet';

export const merge: CommandModule<object, Arguments> = {
  builder: (argv) =>
    typed<Arguments>(
      argv
        .positional('dir', {
          type: 'string',
          array: true,
          describe: 'Folders of results, or folders of such',
          demandOption: true,
        })
        .option('expect', { type: 'number', describe: 'Number of shards', defaultDescription: 'what the shards say' })
        .option('watch', {
          type: 'boolean',
          default: false,
          describe: 'Wait for shards that still run; needs --expect',
        })
        .option('timeout', { type: 'string', default: '1h', describe: 'Give up waiting after this time' })
        .option('dead-after', {
          type: 'string',
          default: '30s',
          describe: 'A shard without a sign of life for so long is dead',
        })
        .option('threshold', { type: 'string', array: true, describe: 'Added to those of the shards' })
        .option('out', {
          type: 'string',
          describe: 'Folder for result.json and report.html',
          defaultDescription: `the first folder; ${APART} when that is a shard's own`,
        })
        .example('$0 merge a b c --out all', 'Join three shards')
        .example('$0 merge /results --expect 8 --watch', 'Collect the pods of a job'),
    ),
  handler: async (args) => {
    const interrupt = interruptSignal();
    try {
      process.exitCode = await run(args, interrupt.signal);
    } catch (error) {
      if (error instanceof MergeError || error instanceof ResultError) throw new UsageError(error.message);
      throw error;
    } finally {
      interrupt.release();
    }
  },
};

async function run(args: Arguments, signal: AbortSignal): Promise<number> {
  const dirs = args.dir.map((dir) => resolve(dir));
  const expect = whole('expect', args.expect, 1);
  const thresholds = thresholdsFrom(args.threshold);
  const out = outside(dirs, args.out);
  if (args.watch && expect === undefined)
    throw new UsageError('--watch: needs --expect, the number of shards to wait for');
  const { parts, dead } =
    args.watch && expect !== undefined
      ? await watchShards({
          dirs,
          expect,
          deadAfterMs: time('dead-after', args['dead-after']),
          timeoutMs: time('timeout', args.timeout),
          everyMs: LOOK_EVERY_MS,
          signal,
          onProgress: said(expect),
        })
      : read(dirs);
  if (parts.length === 0) throw new UsageError(`${args.dir.join(', ')}: no result.json of a shard is there`);
  const result = mergeResults(parts, { dead, thresholds, ...(expect === undefined ? {} : { expect }) });
  // While others were waited for, a shard may have begun to write there.
  outside(dirs, out);
  writeResult(out, result);
  writeAtomically(out, 'report.html', reportHtml(result));
  const code = signal.aborted ? EXIT.interrupted : exitCode(result);
  process.stdout.write(summaryText(result, { out, code }, painter(process.stdout, process.env)));
  return code;
}

/** Where the merged result goes: never into the folder of a shard, whose own result it would replace. Throws UsageError. */
function outside(dirs: readonly string[], named: string | undefined): string {
  const { parts, alive } = findShards(dirs);
  const shards = new Set([...parts, ...alive].map(({ name }) => canonical(name)));
  const wanted = named === undefined ? [dirs[0] ?? '.', APART] : [named];
  const out = wanted.map((folder) => resolve(folder)).find((folder) => !shards.has(canonical(folder)));
  if (out !== undefined) return out;
  throw new UsageError(
    `--out: ${wanted.at(-1)} is the folder of a shard, whose result would be replaced; accepted: any other folder`,
  );
}

/** One folder has one name, whatever links lead there. */
const canonical = (folder: string): string => (existsSync(folder) ? realpathSync(folder) : folder);

function read(dirs: string[]): Pick<Awaited<ReturnType<typeof watchShards>>, 'parts' | 'dead'> {
  const { parts, alive } = findShards(dirs);
  const dead = new Map(
    alive.map(({ name, sign }) => [
      sign.shard.index,
      `${name} has a sign of life and no result, in phase ${sign.phase}`,
    ]),
  );
  return { parts, dead };
}

/** One line whenever something changed. */
function said(expect: number): (done: number, alive: number) => void {
  let last = '';
  return (done, alive) => {
    const line = `${done} of ${expect} shards are done, ${alive} running`;
    if (line !== last) process.stderr.write(`${line}\n`);
    last = line;
  };
}

function time(option: string, text: string): number {
  try {
    return durationMs(text);
  } catch (error) {
    throw new UsageError(`--${option}: ${(error as Error).message}`);
  }
}
