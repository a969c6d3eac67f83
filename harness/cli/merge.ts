/** `muster merge`: one result from the shards of a fleet run. */

import { resolve } from 'node:path';
import process from 'node:process';
import type { CommandModule } from 'yargs';
import { MergeError } from '../../simulators/fleet/result/merge.ts';
import { exitCode } from '../../simulators/fleet/result/result.ts';
import { ResultError } from '../../simulators/fleet/result/shards.ts';
import { mergeShards } from '../../simulators/fleet/run/merge-shards.ts';
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
  const expect = whole('expect', args.expect, 1);
  const thresholds = thresholdsFrom(args.threshold);
  if (args.watch && expect === undefined)
    throw new UsageError('--watch: needs --expect, the number of shards to wait for');
  const deadAfterMs = time('dead-after', args['dead-after']);
  const timeoutMs = time('timeout', args.timeout);
  const watch =
    args.watch && expect !== undefined
      ? { expect, deadAfterMs, timeoutMs, signal, onProgress: progressLines(expect) }
      : undefined;
  const dirs = args.dir.map((dir) => resolve(dir));
  const { result, out } = await mergeShards({ dirs, expect, watch, thresholds, out: args.out, apart: APART });
  const code = signal.aborted ? EXIT.interrupted : exitCode(result);
  process.stdout.write(summaryText(result, { out, code }, painter(process.stdout, process.env)));
  return code;
}

/** Writes a line whenever something has changed. */
function progressLines(expect: number): (done: number, alive: number) => void {
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
