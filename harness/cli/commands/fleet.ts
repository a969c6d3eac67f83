import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import type { PlatformAddress } from '../../../simulators/fleet/index.ts';
import { routesText } from '../../../simulators/fleet/platform/routes.ts';
import type { Mirror } from '../../../simulators/fleet/result/mirror.ts';
import {
  ALIVE_FILE,
  announcedRun,
  NoRunError,
  OutputError,
  RESULT_FILE,
  shardFolder,
  writeFailed,
} from '../../../simulators/fleet/result/shards.ts';
import type { RunOptions } from '../../../simulators/fleet/run/run.ts';
import { type Scenario, uplinksIn } from '../../../simulators/fleet/scenario/scenario.ts';
import { defined } from '../../common/defined.ts';
import { expectPlatformPackages } from '../../common/platform-packages.ts';
import { printable } from '../../common/terminal.ts';
import { durationMs } from '../../common/units.ts';
import { EXIT, exitCodesText, headerSecret, interruptedCode, UsageError, usage } from '../../common/usage.ts';
import {
  conditionsFrom,
  defectsFrom,
  devicesFrom,
  emptyClasses,
  type FleetArguments,
  fleetOptions,
  headersFrom,
  runIdFrom,
  scenarioFrom,
  shardFrom,
} from '../fleet-options.ts';
import { showFleetResult } from '../fleet-summary.ts';
import { command, MQTT, uiPortOf, urlFrom, WEB } from '../options.ts';
import { interruptSignal } from '../process-end.ts';
import { VERSION } from '../version.ts';

export const fleet = command({
  options: fleetOptions,
  examples: Object.entries({
    'muster fleet --robots 1000 --platform embedded': "Roll out to 1,000 robots of Muster's own platform",
    'muster fleet --robots 1000 --platform embedded --ui': 'with a page to watch and drive it',
    'muster fleet --robots 1000 --platform embedded --judge': 'and say whether its answers stay right under load',
    'muster fleet --uplink calls --robots 2000 --platform https://api.example.com/beta':
      'Lists, reads and pings of devices that exist, on any Platform API',
    'muster fleet --uplink calls --rate 500 --header "X-Tenant: acme" --platform https://api.example.com/beta':
      'at 500 requests a second, through a gateway',
    'muster fleet --scenario storm --platform https://api.example.com/beta --shard 2/8': 'One of eight machines',
    'muster fleet --platform https://api.example.com/beta --shard 2/8 --run-id monday --out /shared':
      'on a shared disk: all eight begin together',
  }),
  epilogue: `${routesText()}\n\nExit codes: ${exitCodesText('fleet')}.`,
  async run(args) {
    using interrupt = interruptSignal();
    const { signal } = interrupt;
    using mirror = await mirrorFrom(args);
    let undelivered: string | undefined;
    let code: number;
    try {
      code = await runShard(args, signal, mirror);
    } finally {
      undelivered = await mirror?.deliver(signal);
    }
    if (undelivered === undefined) return code;
    process.stderr.write(`muster: --results: the result was not delivered: ${printable(undelivered)}\n`);
    return EXIT.incomplete;
  },
});

async function runShard(args: FleetArguments, signal: AbortSignal, mirror: Mirror | undefined): Promise<number> {
  // Looks for the packages here, because no user sees errors of Node in the processes of workers and platform.
  expectPlatformPackages();
  const { runFleet, PreflightError, UnreachableError } = await import('../../../simulators/fleet/run/run.ts');
  let place: Place | undefined;
  try {
    place = await placeFrom(args, signal, mirror);
    mirror?.follow(place.out);
    const options = await fleetRun(args, place);
    return await showFleetResult(signal, async (onResult) => {
      await runFleet({ ...options, screen: process.stderr, signal, onResult });
      return options;
    });
  } catch (error) {
    if (place !== undefined) leaveReason(place, error);
    if (error instanceof PreflightError) throw new UsageError(error.message);
    const trouble = mirror?.trouble === undefined ? '' : `; --results: ${mirror.trouble}`;
    if (error instanceof UnreachableError || error instanceof NoRunError) {
      process.stderr.write(`muster: ${printable(error.message + trouble)}\n`);
      return EXIT.incomplete;
    }
    if (!signal.aborted) throw error;
    process.stderr.write(`stopped before the fleet was up; nothing is left running${printable(trouble)}\n`);
    return interruptedCode(signal);
  }
}

async function mirrorFrom(args: FleetArguments): Promise<Mirror | undefined> {
  if (args.results === undefined) return undefined;
  const url = urlFrom('results', args.results, WEB);
  const runId = runIdFrom(args['run-id'], process.env);
  if (args.shard === undefined || runId === undefined)
    throw new UsageError('--results: needs --shard and --run-id; a fleet on one machine has its result already');
  const { Mirror, tokenOfResults } = await import('../../../simulators/fleet/result/mirror.ts');
  return new Mirror({
    url,
    token: usage('--results', () => tokenOfResults(process.env)),
    root: resolve(args.out),
    say: (line) => void process.stderr.write(`${printable(line)}\n`),
    ...(runId !== 'auto' && { runId }),
  });
}

type Place = Pick<RunOptions, 'out' | 'shard' | 'identity'>;

/** Decides the output folder and shard. Throws UsageError, PreflightError or NoRunError. */
async function placeFrom(args: FleetArguments, signal: AbortSignal, mirror: Mirror | undefined): Promise<Place> {
  const shard = shardFrom(args.shard, process.env);
  const id = runIdFrom(args['run-id'], process.env);
  const startWithinMs = usage('--start-within', () => durationMs(args['start-within']));
  const out = resolve(args.out);
  if (id !== undefined && shard === undefined)
    throw new UsageError('--run-id: needs --shard; a fleet on one machine has its --out to itself');
  if (shard === undefined) return { out };
  // Adds a folder for the shard, because all pods of a Job get the same `--out`.
  if (id === undefined) return { out: args.shard === 'auto' ? join(out, shardFolder(shard)) : out, shard };
  const jobId = process.env['MUSTER_JOB_UID'] || undefined;
  const isAwaited = id === 'auto' || mirror !== undefined;
  const runId = isAwaited ? await awaitedRun(args, mirror, startWithinMs, signal) : id;
  const identity = { runId, startWithinMs, ...(jobId !== undefined && { jobId }) };
  return { out: join(out, runId, shardFolder(shard)), shard, identity };
}

async function awaitedRun(args: FleetArguments, mirror: Mirror | undefined, withinMs: number, signal: AbortSignal) {
  const { createFolders } = await import('../../../simulators/fleet/run/ready.ts');
  const out = resolve(args.out);
  // Creates the folders first, so that a pod without write access fails immediately.
  createFolders({ out, stateDir: resolve(args.state) });
  if (mirror === undefined) {
    process.stderr.write(`waiting for a run to be announced in ${args.out}\n`);
    return await announcedRun(out, withinMs, signal);
  }
  const { AccessError } = await import('../../../simulators/fleet/result/mirror.ts');
  return await mirror.awaitRun(withinMs, signal).catch((error: unknown) => {
    if (!(error instanceof AccessError)) throw error;
    throw new UsageError(`--results: ${error.message}; accepted: the MUSTER_RESULTS_TOKEN that the merge has`);
  });
}

/** Records why this shard failed, so that `muster merge` does not wait for its result. */
function leaveReason({ out, shard, identity }: Place, error: unknown): void {
  if (shard === undefined || identity === undefined) return;
  if ([RESULT_FILE, ALIVE_FILE].some((name) => existsSync(join(out, name)))) return;
  try {
    writeFailed(out, { shard, reason: error instanceof Error ? error.message : String(error) });
  } catch (unwritten) {
    if (!(unwritten instanceof OutputError)) throw unwritten;
  }
}

async function fleetRun(args: FleetArguments, place: Place): Promise<Omit<RunOptions, 'screen' | 'signal'>> {
  const scenario = scenarioFrom(args);
  const robots = args.robots ?? scenario.robots;
  if (robots === undefined) throw new UsageError(`--robots: missing; the scenario ${scenario.name} names no number`);
  if (place.shard !== undefined && place.shard.count > robots)
    throw new UsageError(`--shard: ${place.shard.count} shards need as many robots, and there are ${robots}`);
  for (const told of emptyClasses(scenario, robots, [...(args.threshold ?? []), ...(args['abort-on'] ?? [])]))
    process.stderr.write(`preflight: ${told}\n`);
  const { workers, connections, 'metrics-port': port, 'name-prefix': prefix } = args;
  const uiPort = uiPortOf(args);
  if (prefix !== undefined && !/^[\w.-]{1,40}$/.test(prefix))
    throw new UsageError('--name-prefix: must be 1 to 40 letters, digits, dots, dashes or underscores');
  const defects = await defectsFrom(args.defect, robots);
  const platform = platformFrom(args, scenario);
  const thresholds = conditionsFrom(args.threshold, scenario);
  const abortOn = conditionsFrom(args['abort-on'], scenario, '--abort-on');
  if (args.devices !== undefined && !uplinksIn(scenario).some((uplink) => uplink === 'calls' || uplink === 'polling'))
    throw new UsageError('--devices: needs robots that stand for them; accepted: --uplink polling or calls');
  const { for: wanted } = args;
  if (wanted !== undefined && args.shard !== undefined)
    throw new UsageError('--for: not with --shard; accepted: a fleet on one machine');
  const forMs = wanted === undefined ? undefined : usage('--for', () => durationMs(wanted));
  if (forMs === 0) throw new UsageError('--for: leaves no time; accepted: a duration above 0, e.g. 72h');
  if (args.judge && platform === undefined)
    throw new UsageError('--judge: judges the answers of a platform; accepted: robots with an uplink');
  const judge = args.judge ? await import('../fleet-judge.ts') : undefined;
  return {
    ...place,
    scenario,
    robots,
    platform,
    seed: args.seed,
    // Defaults to short keys with the embedded platform, because thousands of keys of 2048 bits take minutes.
    keyBits: args['key-bits'] ?? scenario.key_bits ?? (args.platform === 'embedded' ? 1024 : 2048),
    stateDir: resolve(args.state),
    thresholds,
    abortOn,
    version: VERSION,
    force: args.force,
    keep: args.keep,
    ...defined({
      soak: forMs === undefined ? undefined : { forMs, everyMs: durationMs('1h') },
      judging: judge && ((address: PlatformAddress) => new judge.FleetJudge(address)),
      workers,
      connections,
      defects,
      devices: args.devices === undefined ? undefined : devicesFrom(args.devices),
      dir: args.dir === undefined ? undefined : resolve(args.dir),
      namePrefix: prefix,
      ui: uiPort === undefined ? undefined : { port: uiPort },
      metrics: port === undefined ? undefined : { port, host: args['metrics-host'] },
    }),
  };
}

function platformFrom(args: FleetArguments, scenario: Scenario): PlatformAddress | 'embedded' | undefined {
  if (scenario.uplink === 'none') return undefined;
  if (args.platform === undefined)
    throw new UsageError(
      "--platform: is needed; accepted: the base URL of a Platform API, or embedded for Muster's own",
    );
  if (args.platform === 'embedded') {
    if (args.header !== undefined) throw new UsageError('--header: the embedded platform takes no other header');
    return 'embedded';
  }
  const url = urlFrom('platform', args.platform, WEB);
  const apiKey = args['api-key'] ?? process.env['MUSTER_API_KEY'];
  if (apiKey === undefined || apiKey === '')
    throw new UsageError(
      '--api-key: is needed for this platform; the environment variable MUSTER_API_KEY keeps it out of sight',
    );
  return {
    url: url.href,
    agentUrl: urlFrom('agent-url', args['agent-url'] ?? url.origin, WEB).href,
    mqttUrl: args.mqtt === undefined ? undefined : urlFrom('mqtt', args.mqtt, MQTT).href,
    apiKey: headerSecret('--api-key', apiKey),
    dialect: args.dialect,
    headers: headersFrom(args.header),
    ...defined({ apiVersion: args['api-version'] }),
  };
}
