import process from 'node:process';
import { Document } from 'yaml';
import { memoryOf, robotCost, sensibleWorkers } from '../../../simulators/fleet/run/capacity.ts';
import type { Scenario } from '../../../simulators/fleet/scenario/scenario.ts';
import { membersOf } from '../../../simulators/fleet/schedule/schedule.ts';
import { durationMs } from '../../common/units.ts';
import { EXIT, exitCodesOf, UsageError, usage } from '../../common/usage.ts';
import { conditionsFrom, type FleetArguments, fleetOptions, readScenario, scenarioFrom } from '../fleet-options.ts';
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
    process.stdout.write(manifestsOf(run, `${commandLine(['kubernetes'], options, args)}${own}`));
    return EXIT.conformant;
  },
});

type ClusterRun = Awaited<ReturnType<typeof clusterRun>>;

async function clusterRun(args: OptionsOf<typeof options>, { rest, parse }: CommandContext) {
  const { shards, image, timeout, results, storage = '10Gi' } = args;
  const fleetArguments = [
    ...(args.robots === undefined ? [] : [`--robots=${args.robots}`]),
    `--platform=${urlFrom('platform', args.platform, WEB).href}`,
    ...(args.mqtt === undefined ? [] : [`--mqtt=${urlFrom('mqtt', args.mqtt, MQTT).href}`]),
    ...rest,
  ];
  const given: Partial<FleetArguments> = (await parse(['fleet', ...shardArguments(fleetArguments)]))?.given ?? {};
  const read = readScenario(args.scenario);
  const scenario = scenarioFrom(given, read);
  // Writes the bounds for another uplink into the scenario, because a shard sets them in a built-in scenario only.
  const text = given.uplink === undefined ? read.text : new Document(scenario).toString({ lineWidth: 0 });
  const robots = args.robots ?? scenario.robots;
  if (robots === undefined) throw new UsageError(`--robots: missing; the scenario ${args.scenario} names no number`);
  if (robots < shards) throw new UsageError(`--shards: ${shards} shards need as many robots, and there are ${robots}`);
  // Refuses wrong thresholds before any pod starts.
  conditionsFrom([...(scenario.thresholds ?? []), ...(scenario.abort_on ?? [])]);
  usage('--timeout', () => durationMs(timeout));
  if (/^$|\s/.test(image)) throw new UsageError(`--image: '${image}' is no name of an image`);
  const name = label('name', args.name, 30);
  const secret = label('secret', args.secret, 63);
  const claim = args.claim === undefined ? undefined : label('claim', args.claim, 63);
  if (!/^[1-9]\d*(\.\d+)?([KMGT]i|[kMGT])?$/.test(storage))
    throw new UsageError(`--storage: '${storage}' is not accepted; accepted: a size such as 10Gi`);
  const resources = shardResources(membersOf(robots, { index: 1, count: shards }).length, scenario);
  return { shards, scenario: text, fleetArguments, image, timeout, name, secret, claim, storage, results, resources };
}

function label(option: string, text: string, most: number): string {
  if (/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(text) && text.length <= most) return text;
  throw new UsageError(
    `--${option}: '${text}' is not accepted; accepted: 1 to ${most} lower-case letters, digits and dashes, a ` +
      'letter or digit at both ends',
  );
}

const MIB = 2 ** 20;

function shardResources(robots: number, scenario: Pick<Scenario, 'uplink' | 'subscribers' | 'phases'>) {
  const cost = robotCost(scenario);
  const workers = sensibleWorkers(robots, cost, { descriptors: Number.POSITIVE_INFINITY, cores: robots });
  const { whole } = memoryOf(robots, cost, { workers, platform: false, filesInMemory: true });
  // Fraction of the requested memory that a shard may fill; the fleet requires the rest to be free.
  const memory = whole / MIB / 0.85;
  return {
    cpu: String(Math.max(1, Math.ceil(robots / 5000))),
    memory: steps(memory, 256),
    memoryLimit: steps(2 * memory, 512),
    /** Memory disk, part of `memory`: three times the robots' files, because event logs grow with each roll-out. */
    files: steps((3 * robots * cost.memoryDiskBytes) / MIB, 64),
  };
}

const steps = (mebibytes: number, step: number): string => `${Math.max(1, Math.ceil(mebibytes / step)) * step}Mi`;

const RESULTS = '/results';
const METRICS_PORT = 9464;
const RESULTS_PORT = 8443;
const POD = {
  restartPolicy: 'Never',
  automountServiceAccountToken: false,
  securityContext: { runAsNonRoot: true, runAsUser: 10_001, runAsGroup: 10_001, fsGroup: 10_001 },
};
const CONTAINER = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } };

function manifestsOf(run: ClusterRun, line: string): string {
  const data = { 'scenario.yaml': run.scenario };
  const scenario = resource('v1', 'ConfigMap', scenarioName(run), 'fleet', { data });
  const claimed = {
    accessModes: [run.results === 'volume' ? 'ReadWriteMany' : 'ReadWriteOnce'],
    resources: { requests: { storage: run.storage } },
  };
  const claim =
    run.claim === undefined && resource('v1', 'PersistentVolumeClaim', claimName(run), 'results', { spec: claimed });
  const served = {
    selector: { 'batch.kubernetes.io/job-name': mergeName(run) },
    ports: [{ name: 'results', port: RESULTS_PORT, targetPort: RESULTS_PORT }],
  };
  const service = run.results === 'network' && resource('v1', 'Service', mergeName(run), 'merge', { spec: served });
  const resources = [scenario, claim, service, shardsOf(run), mergeOf(run)].filter((resource) => resource !== false);
  const texts = resources.map((resource) => new Document(resource).toString({ lineWidth: 0 }));
  const comment = introduction(run, line)
    .replaceAll(/^(?=.)/gm, ' ')
    .replaceAll(/^/gm, '#');
  return `${comment}\n${texts.join('---\n')}`;
}

const introduction = ({ name, secret, claim, results }: ClusterRun, line: string): string => {
  const conditions = `-o jsonpath='{.status.conditions[*].type}'`;
  const token = results === 'volume' ? '' : ' --from-literal=results-token=$(openssl rand -hex 16)';
  const also = claim === undefined ? ' Deleting this whole file deletes the volume with the results.' : '';
  return `A fleet over several machines: an Indexed Job whose pods are the shards, and a pod that collects their \
results. Printed by:
${line}

  kubectl create secret generic ${secret} --from-literal=api-key=…${token}
  kubectl apply -f fleet.yaml
  until kubectl get job/${name}-merge ${conditions} | grep -Eq 'Complete|Failed'; do sleep 5; done
  kubectl logs job/${name}-merge

The collecting pod announces its Job's uid as the id of the run, and /results has a folder for each run. The shards \
wait for each other
and begin together, so all pods must find room at the same time. To run again:
kubectl delete job ${name}-fleet ${name}-merge, then apply again.${also}`;
};

const labels = (component: string) => ({
  'app.kubernetes.io/name': 'muster',
  'app.kubernetes.io/component': component,
});

const resource = (apiVersion: string, kind: string, name: string, component: string, content: object) => ({
  apiVersion,
  kind,
  metadata: { name, labels: labels(component) },
  ...content,
});

const scenarioName = ({ name }: ClusterRun): string => `${name}-scenario`;
const claimName = ({ name, claim }: ClusterRun): string => claim ?? `${name}-results`;

/** Never restarts a failed shard, because a second attempt would be a different run; other shards continue. */
const shardsOf = (run: ClusterRun) =>
  resource('batch/v1', 'Job', `${run.name}-fleet`, 'fleet', {
    spec: {
      completionMode: 'Indexed',
      completions: run.shards,
      parallelism: run.shards,
      backoffLimitPerIndex: 0,
      template: {
        metadata: {
          labels: labels('fleet'),
          annotations: {
            'prometheus.io/scrape': 'true',
            'prometheus.io/port': String(METRICS_PORT),
            'prometheus.io/path': '/metrics',
          },
        },
        spec: {
          ...POD,
          terminationGracePeriodSeconds: 30,
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable: 'ScheduleAnyway',
              labelSelector: { matchLabels: labels('fleet') },
            },
          ],
          containers: [shardOf(run)],
          volumes: [
            run.results === 'volume' ? resultsOf(run) : { name: 'results', emptyDir: {} },
            { name: 'scenario', configMap: { name: scenarioName(run) } },
            { name: 'temporary', emptyDir: {} },
            { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: run.resources.files } },
          ],
        },
      },
    },
  });

const JOB_UID = { fieldRef: { fieldPath: "metadata.labels['batch.kubernetes.io/controller-uid']" } };

const shardOf = (run: ClusterRun) => ({
  name: 'shard',
  image: run.image,
  imagePullPolicy: 'IfNotPresent',
  args: ['fleet', ...shardArguments(run.fleetArguments), ...delivering(run)],
  env: [
    { name: 'MUSTER_SHARDS', value: String(run.shards) },
    { name: 'MUSTER_JOB_UID', valueFrom: JOB_UID },
    { name: 'MUSTER_API_KEY', valueFrom: { secretKeyRef: { name: run.secret, key: 'api-key' } } },
    ...(run.results === 'network'
      ? [{ name: 'MUSTER_POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } }]
      : []),
    ...resultsToken(run),
  ],
  ports: [{ name: 'metrics', containerPort: METRICS_PORT }],
  resources: {
    requests: { cpu: run.resources.cpu, memory: run.resources.memory },
    limits: { memory: run.resources.memoryLimit },
  },
  securityContext: CONTAINER,
  volumeMounts: [
    { name: 'results', mountPath: RESULTS },
    { name: 'scenario', mountPath: '/scenario', readOnly: true },
    { name: 'temporary', mountPath: '/tmp' },
    // Enlarges /dev/shm for the robots' files; the default of 64 MiB suffices for only 800 robots.
    { name: 'memory', mountPath: '/dev/shm' },
  ],
});

/** Names robots after their pod where no volume keeps their keys: platforms refuse a known robot with a new key. */
function delivering(run: ClusterRun): string[] {
  if (run.results === 'volume') return [];
  const isNamed = run.fleetArguments.some((word) => word.startsWith('--name-prefix'));
  return [
    `--results=http://${mergeName(run)}:${RESULTS_PORT}`,
    ...(isNamed ? [] : ['--name-prefix=$(MUSTER_POD_UID)']),
  ];
}

const resultsToken = ({ results, secret }: ClusterRun) =>
  results === 'volume'
    ? []
    : [{ name: 'MUSTER_RESULTS_TOKEN', valueFrom: { secretKeyRef: { name: secret, key: 'results-token' } } }];

const mergeName = ({ name }: ClusterRun): string => `${name}-merge`;

const shardArguments = (own: readonly string[]): string[] => [
  '--shard=auto',
  '--run-id=auto',
  '--scenario=/scenario/scenario.yaml',
  ...own,
  `--state=${RESULTS}/state`,
  `--out=${RESULTS}`,
  '--metrics-host=0.0.0.0',
  `--metrics-port=${METRICS_PORT}`,
];

const resultsOf = (run: ClusterRun) => ({ name: 'results', persistentVolumeClaim: { claimName: claimName(run) } });

/** Exit codes of Muster itself; signals cause codes above 128, after which a retry may succeed. */
const OWN_ENDS = exitCodesOf('fleet').filter((code) => code > 0 && code < 128);

/** Retries a merge that a signal or a drained node has ended, but none that Muster has ended. */
const mergeOf = (run: ClusterRun) =>
  resource('batch/v1', 'Job', mergeName(run), 'merge', {
    spec: {
      backoffLimit: 3,
      podFailurePolicy: {
        rules: [
          { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
          { action: 'FailJob', onExitCodes: { containerName: 'merge', operator: 'In', values: OWN_ENDS } },
        ],
      },
      template: {
        metadata: { labels: labels('merge') },
        spec: {
          ...POD,
          containers: [
            {
              name: 'merge',
              image: run.image,
              imagePullPolicy: 'IfNotPresent',
              args: [
                'merge',
                RESULTS,
                `--expect=${run.shards}`,
                '--watch',
                `--timeout=${run.timeout}`,
                ...(run.results === 'network' ? [`--serve=${RESULTS_PORT}`, '--serve-host=0.0.0.0'] : []),
              ],
              env: [{ name: 'MUSTER_RUN_ID', valueFrom: JOB_UID }, ...resultsToken(run)],
              ...(run.results === 'network' && { ports: [{ name: 'results', containerPort: RESULTS_PORT }] }),
              resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '1Gi' } },
              securityContext: CONTAINER,
              volumeMounts: [{ name: 'results', mountPath: RESULTS }],
            },
          ],
          volumes: [resultsOf(run)],
        },
      },
    },
  });
