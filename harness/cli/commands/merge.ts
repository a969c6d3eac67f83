import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import process from 'node:process';
import { MergeError } from '../../../simulators/fleet/result/merge.ts';
import { serveResults, tokenOfResults } from '../../../simulators/fleet/result/mirror.ts';
import { ResultError } from '../../../simulators/fleet/result/shards.ts';
import { mergeShards, NoShardLeft } from '../../../simulators/fleet/run/shards.ts';
import { defined } from '../../common/defined.ts';
import { printable } from '../../common/terminal.ts';
import { durationMs } from '../../common/units.ts';
import { EXIT, exitCodesText, interruptedCode, UsageError, usage } from '../../common/usage.ts';
import { whyNot } from '../../common/user-files.ts';
import { conditionsFrom, runIdFrom } from '../fleet-options.ts';
import { showFleetResult } from '../fleet-summary.ts';
import { command, OPTION, type OptionsOf, type OptionTable, pairFrom, wholePath } from '../options.ts';
import { interruptSignal } from '../process-end.ts';

const APART = 'muster-report/fleet';

const options = {
  dir: OPTION.list('Folders with results, or with folders of results', {
    positional: true,
    required: true,
    path: wholePath,
  }),
  expect: OPTION.whole('Number of shards', { from: 1, defaultText: 'as the shards recorded it' }),
  'run-id': OPTION.text('Take only shards of this run, and announce it to them with --watch; auto makes an id', {
    defaultText: 'MUSTER_RUN_ID, else none',
  }),
  watch: OPTION.flag('Wait for shards that still run; needs --expect'),
  serve: OPTION.port('Port on which shards without a shared disk deliver results; needs --watch and --run-id'),
  'serve-host': OPTION.text('Address to take them on', { default: '127.0.0.1' }),
  'serve-cert': OPTION.file('Certificate of that server, PEM; otherwise it speaks HTTP without TLS'),
  'serve-key': OPTION.file('Its private key, PEM'),
  timeout: OPTION.text('Give up waiting after this time', { default: '1h' }),
  'dead-after': OPTION.text('Consider a shard dead after this time without a sign of life', { default: '30s' }),
  threshold: OPTION.list('Threshold to evaluate in addition to those of the shards'),
  out: OPTION.file('Folder for result.json and report.html', {
    defaultText: `the first folder; ${APART} when that is a shard's own`,
  }),
} as const satisfies OptionTable;

export const merge = command({
  options,
  examples: Object.entries({
    'muster merge a b c --out all': 'Join three shards',
    'muster merge /results --expect 8 --watch --run-id auto': 'Collect shards that were started with --run-id auto',
    'muster merge out --expect 8 --watch --run-id auto --serve 8443':
      'of shards that have --results, and no shared disk',
  }),
  epilogue: `Exit codes: ${exitCodesText('fleet')}.`,
  async run(args) {
    using interrupt = interruptSignal();
    try {
      return await run(args, interrupt.signal);
    } catch (error) {
      if (error instanceof MergeError || error instanceof ResultError) throw new UsageError(error.message);
      if (error instanceof NoShardLeft) {
        process.stderr.write(`muster: ${printable(error.message)}\n`);
        return interrupt.signal.aborted ? interruptedCode(interrupt.signal) : EXIT.incomplete;
      }
      throw error;
    }
  },
});

async function run(args: OptionsOf<typeof options>, signal: AbortSignal): Promise<number> {
  const { expect } = args;
  const thresholds = conditionsFrom(args.threshold);
  if (args.watch && expect === undefined)
    throw new UsageError('--watch: needs --expect, the number of shards to wait for');
  const deadAfterMs = usage('--dead-after', () => durationMs(args['dead-after']));
  const timeoutMs = usage('--timeout', () => durationMs(args.timeout));
  let last = '';
  const onProgress = (done: number, alive: number): void => {
    const line = `${done} of ${expect} shards are done, ${alive} running`;
    if (line !== last) process.stderr.write(`${line}\n`);
    last = line;
  };
  const watch = args.watch && expect !== undefined ? { expect, deadAfterMs, timeoutMs, signal, onProgress } : undefined;
  const dirs = args.dir.map((dir) => resolve(dir));
  const given = runIdFrom(args['run-id'], process.env);
  if (given === 'auto' && watch === undefined)
    throw new UsageError('--run-id auto: needs --watch; accepted otherwise: the id that the shards have');
  const runId = given === 'auto' ? randomUUID() : given;
  await using _ = args.serve === undefined ? undefined : await served(args, dirs[0] ?? '.', watch && runId);
  return await showFleetResult(signal, (onResult) =>
    mergeShards({ dirs, runId, expect, watch, thresholds, out: args.out, apart: APART, onResult }),
  );
}

async function served(args: OptionsOf<typeof options>, dir: string, runId: string | undefined) {
  const { serve: port = 0, 'serve-host': host } = args;
  if (runId === undefined) throw new UsageError('--serve: needs --watch and --run-id');
  const token = usage('--serve', () => tokenOfResults(process.env));
  const tls = pairFrom('serve', args['serve-cert'], args['serve-key']);
  const server = await serveResults(defined({ dir, runId, token, port, host, tls })).catch((error: unknown) => {
    throw new UsageError(`--serve: cannot listen on ${host}:${port} (${whyNot(error)})`);
  });
  process.stderr.write(`results: http${tls === undefined ? '' : 's'}://${host}:${server.port}\n`);
  return server;
}
