/** `muster fleet`: thousands of simulated robots carry out a scenario against a platform. */
import { join, resolve } from 'node:path';
import process from 'node:process';
import type { CommandModule } from 'yargs';
import type { PlatformAddress } from '../../simulators/fleet/index.ts';
import { exitCode } from '../../simulators/fleet/result/result.ts';
import { exitCodesText } from '../common/exit-codes.ts';
import { UsageError } from '../common/usage-error.ts';
import { painter } from '../reports/style.ts';
import { interruptSignal, typed } from './check-options.ts';
import { EXIT } from './exit.ts';
import {
  defectsFrom,
  type FleetArguments,
  fleetOptions,
  scenarioFrom,
  shardFrom,
  thresholdsFrom,
  urlFrom,
  whole,
} from './fleet-options.ts';
import { summaryText } from './fleet-summary.ts';
import { VERSION } from './version.ts';

export const fleet: CommandModule<object, FleetArguments> = {
  builder: (argv) =>
    typed<FleetArguments>(
      argv
        .options(fleetOptions)
        .example('$0 fleet --robots 1000 --platform embedded', "Roll out to 1,000 robots of Muster's own platform")
        .example(
          '$0 fleet --scenario storm --platform https://api.example.com/beta --shard 2/8',
          'One of eight machines',
        )
        .epilogue(`Exit codes: ${exitCodesText('fleet')}.`),
    ),
  handler: async (args) => {
    const { runFleet, PreflightError, UnreachableError } = await import('../../simulators/fleet/run/run.ts');
    const given = scenarioFrom(args.scenario);
    const scenario = args.uplink === undefined ? given : { ...given, uplink: args.uplink };
    const robots = whole('robots', args.robots ?? scenario.robots ?? 0, 1, 1_000_000);
    const shard = shardFrom(args.shard, process.env);
    const workers = whole('workers', args.workers, 0);
    const metricsPort = whole('metrics-port', args['metrics-port'], 0, 65_535);
    const defects = await defectsFrom(args.defect, robots);
    const out = resolve(args.out);
    const interrupt = interruptSignal();
    try {
      const result = await runFleet({
        scenario,
        robots,
        platform: platformFrom(args, (scenario.uplink ?? 'agent') !== 'none'),
        seed: whole('seed', args.seed, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
        keyBits: whole('key-bits', args['key-bits'] ?? scenario.key_bits ?? defaultKeyBits(args.platform), 1024, 8192),
        stateDir: resolve(args.state),
        // Every pod of a job has the same arguments, so each writes into a folder of its own.
        out: shard !== undefined && args.shard === 'auto' ? join(out, `shard-${shard.index}-of-${shard.count}`) : out,
        thresholds: thresholdsFrom(args.threshold),
        screen: process.stderr,
        version: VERSION,
        signal: interrupt.signal,
        force: args.force,
        ...(args.dir === undefined ? {} : { dir: resolve(args.dir) }),
        ...(workers === undefined ? {} : { workers }),
        ...(shard === undefined ? {} : { shard }),
        ...(defects === undefined ? {} : { defects }),
        ...(args['name-prefix'] === undefined ? {} : { namePrefix: namePrefixFrom(args['name-prefix']) }),
        ...(metricsPort === undefined ? {} : { metrics: { port: metricsPort, host: args['metrics-host'] } }),
      });
      const code = interrupt.signal.aborted ? EXIT.interrupted : exitCode(result);
      process.stdout.write(summaryText(result, { out, code }, painter(process.stdout, process.env)));
      process.exitCode = code;
    } catch (error) {
      if (error instanceof PreflightError) throw new UsageError(error.message);
      if (error instanceof UnreachableError) {
        process.stderr.write(`muster: ${error.message}\n`);
        process.exitCode = EXIT.incomplete;
        return;
      }
      if (!interrupt.signal.aborted) throw error;
      process.stderr.write('stopped before the fleet was up; nothing is left running\n');
      process.exitCode = EXIT.interrupted;
    } finally {
      interrupt.release();
    }
  },
};

function platformFrom(args: FleetArguments, needed: boolean): PlatformAddress | 'embedded' | undefined {
  if (!needed) return undefined;
  if (args.platform === undefined) {
    throw new UsageError(
      "--platform: is needed; accepted: the base URL of a Platform API, or embedded for Muster's own",
    );
  }
  if (args.platform === 'embedded') return 'embedded';
  const url = urlFrom('platform', args.platform, ['http:', 'https:']);
  const apiKey = args['api-key'] ?? process.env['MUSTER_API_KEY'];
  if (apiKey === undefined || apiKey === '') {
    throw new UsageError(
      '--api-key: is needed for this platform; the environment variable MUSTER_API_KEY keeps it out of sight',
    );
  }
  return {
    url: url.href,
    agentUrl: urlFrom('agent-url', args['agent-url'] ?? url.origin, ['http:', 'https:']).href,
    mqttUrl: args.mqtt === undefined ? undefined : urlFrom('mqtt', args.mqtt, ['mqtt:', 'mqtts:']).href,
    apiKey,
    dialect: args.dialect,
  };
}

/** Making thousands of the longer keys, which any other platform asks for, takes minutes. */
const defaultKeyBits = (platform: string | undefined): number => (platform === 'embedded' ? 1024 : 2048);

function namePrefixFrom(text: string): string {
  if (/^[\w.-]{1,40}$/.test(text)) return text;
  throw new UsageError('--name-prefix: must be 1 to 40 letters, digits, dots, dashes or underscores');
}
