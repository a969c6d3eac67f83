/** `muster fleet`: thousands of simulated robots carry out a scenario against a platform. */
import { join, resolve } from 'node:path';
import process from 'node:process';
import type { PlatformAddress } from '../../../simulators/fleet/index.ts';
import type { RunOptions } from '../../../simulators/fleet/run/run.ts';
import { printable } from '../../common/terminal.ts';
import { EXIT, exitCodesText, UsageError } from '../../common/usage.ts';
import { uiPortOf } from '../console-options.ts';
import {
  defectsFrom,
  type FleetArguments,
  fleetOptions,
  scenarioFrom,
  shardFrom,
  thresholdsFrom,
  urlFrom,
} from '../fleet-options.ts';
import { shown } from '../fleet-summary.ts';
import { interruptSignal } from '../interrupt.ts';
import { command } from '../options.ts';
import { VERSION } from '../version.ts';

export const fleet = command({
  options: fleetOptions,
  examples: [
    ['muster fleet --robots 1000 --platform embedded', "Roll out to 1,000 robots of Muster's own platform"],
    ['muster fleet --robots 1000 --platform embedded --ui', 'with a page to watch and drive it'],
    ['muster fleet --scenario storm --platform https://api.example.com/beta --shard 2/8', 'One of eight machines'],
  ],
  epilogue: `Exit codes: ${exitCodesText('fleet')}.`,
  async run(args) {
    const { runFleet, PreflightError, UnreachableError } = await import('../../../simulators/fleet/run/run.ts');
    const options = await fleetRun(args);
    const interrupt = interruptSignal();
    const { signal } = interrupt;
    try {
      return await shown(signal, async (onResult) => {
        const { out } = options;
        return { result: await runFleet({ ...options, screen: process.stderr, signal, onResult }), out };
      });
    } catch (error) {
      if (error instanceof PreflightError) throw new UsageError(error.message);
      if (error instanceof UnreachableError) {
        process.stderr.write(`muster: ${printable(error.message)}\n`);
        return EXIT.incomplete;
      }
      if (!signal.aborted) throw error;
      process.stderr.write('stopped before the fleet was up; nothing is left running\n');
      return EXIT.interrupted;
    } finally {
      interrupt.release();
    }
  },
});

/** Throws UsageError. */
async function fleetRun(args: FleetArguments): Promise<Omit<RunOptions, 'screen' | 'signal'>> {
  const given = scenarioFrom(args.scenario);
  const scenario = args.uplink === undefined ? given : { ...given, uplink: args.uplink };
  const robots = args.robots ?? scenario.robots;
  if (robots === undefined) throw new UsageError(`--robots: missing; the scenario ${args.scenario} names no number`);
  const { workers, connections, 'metrics-port': port, 'name-prefix': prefix } = args;
  const uiPort = uiPortOf(args);
  const shard = shardFrom(args.shard, process.env);
  const defects = await defectsFrom(args.defect, robots);
  const out = resolve(args.out);
  return {
    scenario,
    robots,
    platform: platformFrom(args, (scenario.uplink ?? 'agent') !== 'none'),
    seed: args.seed,
    keyBits: args['key-bits'] ?? scenario.key_bits ?? defaultKeyBits(args.platform),
    stateDir: resolve(args.state),
    // Every pod of a job has the same arguments, so each writes into a folder of its own.
    out: shard !== undefined && args.shard === 'auto' ? join(out, `shard-${shard.index}-of-${shard.count}`) : out,
    thresholds: thresholdsFrom(args.threshold),
    version: VERSION,
    force: args.force,
    keep: args.keep,
    ...(args.dir === undefined ? {} : { dir: resolve(args.dir) }),
    ...(workers === undefined ? {} : { workers }),
    ...(connections === undefined ? {} : { connections }),
    ...(shard === undefined ? {} : { shard }),
    ...(defects === undefined ? {} : { defects }),
    ...(prefix === undefined ? {} : { namePrefix: namePrefixFrom(prefix) }),
    ...(uiPort === undefined ? {} : { ui: { port: uiPort } }),
    ...(port === undefined ? {} : { metrics: { port, host: args['metrics-host'] } }),
  };
}

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
