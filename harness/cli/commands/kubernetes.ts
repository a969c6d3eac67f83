/** `muster kubernetes`: prints the manifests of a fleet run on a cluster. */
import process from 'node:process';
import { membersOf } from '../../../simulators/fleet/schedule/schedule.ts';
import { durationMs } from '../../common/durations.ts';
import { EXIT, UsageError, usage } from '../../common/usage.ts';
import { conditionsFrom, fleetOptions, readScenario } from '../fleet-options.ts';
import { type ClusterRun, manifestsOf, shardArguments, shardResources } from '../kubernetes-manifests.ts';
import {
  type CommandContext,
  command,
  commandLine,
  MQTT,
  type OptionsOf,
  type OptionTable,
  optionsIn,
  pathOfYaml,
  urlFrom,
  WEB,
} from '../options.ts';

const FLEET = optionsIn('Fleet');
const CLUSTER = optionsIn('Cluster');

const options = {
  shards: FLEET.whole('Pods that share the fleet, each on a node of its own where there are enough', {
    from: 1,
    to: 999,
    required: true,
  }),
  robots: fleetOptions.robots,
  platform: FLEET.text('Base URL of the Platform API, as pods reach it', { required: true }),
  mqtt: FLEET.text('mqtt://… or mqtts://… of the broker, as pods reach it'),
  scenario: FLEET.text('rollout, steady, storm, or a YAML file', { default: 'rollout', path: pathOfYaml }),
  timeout: FLEET.text('The merge gives up on shards after this time', { default: '2h' }),
  name: CLUSTER.text('Beginning of all names', { default: 'muster' }),
  image: CLUSTER.text('Image of Muster', { default: 'muster:latest' }),
  secret: CLUSTER.text("Secret with the platform's API key in api-key", { default: 'muster-platform' }),
  results: CLUSTER.oneOf(
    ['volume', 'network'],
    'All pods share a volume (ReadWriteMany), or shards deliver to the pod that merges (ReadWriteOnce)',
    { default: 'volume' },
  ),
  claim: CLUSTER.text('Existing claim of the volume, which outlives the manifests', {
    defaultText: 'a new one',
    conflicts: 'storage',
  }),
  storage: CLUSTER.text('Size of the new claim', { defaultText: '10Gi' }),
} as const satisfies OptionTable;

type Arguments = OptionsOf<typeof options>;

export const kubernetes = command({
  options,
  takesRest: true,
  examples: [
    ['muster kubernetes --shards 3 --robots 30000 --platform http://platform:8080/beta > fleet.yaml', 'three shards'],
    ['muster kubernetes --shards 2 --platform https://x/beta --robots 500 -- --seed 7', 'with options of muster fleet'],
  ],
  epilogue:
    'Words after -- go to muster fleet in each shard. The volume must be writable for group 10001; ' +
    'the Job of the shards needs Kubernetes 1.29.',
  async run(args, context) {
    const run = await clusterRun(args, context);
    const own = context.rest.length === 0 ? '' : ` -- ${context.rest.join(' ')}`;
    const line = `${commandLine(['kubernetes'], options, args)}${own}`;
    process.stdout.write(manifestsOf(run, line));
    return EXIT.conformant;
  },
});

async function clusterRun(args: Arguments, { rest, parse }: CommandContext): Promise<ClusterRun> {
  const { shards, name, image } = args;
  const { scenario, text } = readScenario(args.scenario);
  const robots = args.robots ?? scenario.robots;
  if (robots === undefined) throw new UsageError(`--robots: missing; the scenario ${args.scenario} names no number`);
  if (robots < shards) throw new UsageError(`--shards: ${shards} shards need as many robots, and there are ${robots}`);
  // Refuses wrong thresholds before any pod starts.
  conditionsFrom([...(scenario.thresholds ?? []), ...(scenario.abort_on ?? [])]);
  usage('--timeout', () => durationMs(args.timeout));
  const fleetArguments = [
    ...(args.robots === undefined ? [] : [`--robots=${robots}`]),
    `--platform=${urlFrom('platform', args.platform, WEB).href}`,
    ...(args.mqtt === undefined ? [] : [`--mqtt=${urlFrom('mqtt', args.mqtt, MQTT).href}`]),
    ...rest,
  ];
  await parse(['fleet', ...shardArguments(fleetArguments)]);
  if (/^$|\s/.test(image)) throw new UsageError(`--image: '${image}' is no name of an image`);
  return {
    shards,
    scenario: text,
    fleetArguments,
    image,
    timeout: args.timeout,
    name: label('name', name, 30),
    secret: label('secret', args.secret, 63),
    volume: volumeOf(args),
    results: args.results,
    resources: shardResources(membersOf(robots, { index: 1, count: shards }).length, scenario),
  };
}

function volumeOf({ claim, storage }: Arguments): ClusterRun['volume'] {
  if (claim !== undefined) return { claim: label('claim', claim, 63) };
  const size = storage ?? '10Gi';
  if (!/^[1-9]\d*(\.\d+)?([KMGT]i|[kMGT])?$/.test(size))
    throw new UsageError(`--storage: '${size}' is not accepted; accepted: a size such as 10Gi`);
  return { storage: size };
}

function label(option: string, text: string, most: number): string {
  if (/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(text) && text.length <= most) return text;
  throw new UsageError(
    `--${option}: '${text}' is not accepted; accepted: 1 to ${most} lower-case letters, digits and dashes, a ` +
      'letter or digit at both ends',
  );
}
