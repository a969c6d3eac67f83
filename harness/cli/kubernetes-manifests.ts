/**
 * The manifests of a fleet run on a cluster: an Indexed Job whose pods are the shards, and a Job that merges their
 * results.
 */

import { Document } from 'yaml';
import { memoryOf, robotCost, sensibleWorkers } from '../../simulators/fleet/run/capacity.ts';
import type { Scenario } from '../../simulators/fleet/scenario/scenario.ts';
import { exitCodesOf } from '../common/usage.ts';

/** What the pod of a shard asks of its node, from what a robot costs; quantities as Kubernetes writes them. */
export interface ShardResources {
  cpu: string;
  memory: string;
  memoryLimit: string;
  /** The memory disk for the files of robots; counts as memory of the pod too. */
  files: string;
}

const MIB = 2 ** 20;
/** The rest is left free, as the preflight of a shard does. */
const USED = 0.85;
/** Fewer robots than this keep one processor busy while they come up. */
const ROBOTS_PER_CPU = 5000;
/** A memory disk is used when the files fill half of it at most; event logs grow with each roll-out. */
const FILES_SPARE = 3;

/** `robots`: of the largest shard. */
export function shardResources(
  robots: number,
  scenario: Pick<Scenario, 'uplink' | 'subscribers' | 'phases'>,
): ShardResources {
  const cost = robotCost(scenario);
  const unknown = { descriptors: 0, memoryBytes: 0, ports: 0, diskBytes: 0, inodes: 0 };
  const workers = sensibleWorkers(robots, cost, { ...unknown, cores: robots });
  const { whole } = memoryOf(robots, cost, { workers, platform: false, filesInMemory: true });
  const memory = whole / MIB / USED;
  return {
    cpu: String(Math.max(1, Math.ceil(robots / ROBOTS_PER_CPU))),
    memory: steps(memory, 256),
    memoryLimit: steps(2 * memory, 512),
    files: steps((FILES_SPARE * robots * cost.memoryDiskBytes) / MIB, 64),
  };
}

/** Rounded up to whole steps. */
const steps = (mebibytes: number, step: number): string => `${Math.max(1, Math.ceil(mebibytes / step)) * step}Mi`;

export interface ClusterRun {
  shards: number;
  /** Text of the scenario file. */
  scenario: string;
  /** Arguments of `muster fleet` in each shard, beside those that the manifests decide. */
  fleetArguments: readonly string[];
  name: string;
  namespace?: string | undefined;
  image: string;
  /** The Secret with the platform's API key in `api-key`. */
  secret: string;
  /** An existing claim, or what a new one asks for. */
  volume: { claim: string } | { storage: string; storageClass?: string | undefined };
  /**
   * How results reach the pod that merges: on the volume, which all pods share, or over the network, so that the volume
   * is of that pod alone.
   */
  results: 'volume' | 'network';
  resources: ShardResources;
  /** How long the merge waits for the shards, e.g. `2h`. */
  timeout: string;
}

const RESULTS = '/results';
const METRICS_PORT = 9464;
const RESULTS_PORT = 8443;
const USER = { runAsNonRoot: true, runAsUser: 10_001, runAsGroup: 10_001, fsGroup: 10_001 };
const CONTAINER = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

/** One YAML stream for `kubectl apply -f -`. `line`: the command that prints it. */
export function manifestsOf(run: ClusterRun, line: string): string {
  const resources = [
    scenarioOf(run),
    ...('claim' in run.volume ? [] : [claimOf(run, run.volume)]),
    ...(run.results === 'network' ? [serviceOf(run)] : []),
    shardsOf(run),
    mergeOf(run),
  ];
  const texts = resources.map((resource) => new Document(resource).toString({ lineWidth: 0 }));
  const comment = introduction(run, line)
    .replaceAll(/^(?=.)/gm, ' ')
    .replaceAll(/^/gm, '#');
  return `${comment}\n${texts.join('---\n')}`;
}

const introduction = ({ name, namespace, secret, volume, results }: ClusterRun, line: string): string => {
  const kubectl = namespace === undefined ? 'kubectl' : `kubectl -n ${namespace}`;
  const conditions = `-o jsonpath='{.status.conditions[*].type}'`;
  const token = results === 'volume' ? '' : ' --from-literal=results-token=$(openssl rand -hex 16)';
  const also = 'claim' in volume ? '' : ' Deleting this whole file deletes the volume with the results.';
  return `A fleet over several machines: an Indexed Job whose pods are the shards, and a pod that collects their \
results. Printed by:
${line}

  ${kubectl} create secret generic ${secret} --from-literal=api-key=…${token}
  ${kubectl} apply -f fleet.yaml
  until ${kubectl} get job/${name}-merge ${conditions} | grep -Eq 'Complete|Failed'; do sleep 5; done
  ${kubectl} logs job/${name}-merge

The collecting pod announces its Job's uid as the id of the run, and /results has a folder for each run. The shards \
wait for each other
and begin together, so all pods must find room at the same time. To run again:
${kubectl} delete job ${name}-fleet ${name}-merge, then apply again.${also}`;
};

const metadata = ({ namespace }: ClusterRun, name: string, component: string) => ({
  name,
  ...(namespace !== undefined && { namespace }),
  labels: labels(component),
});

const labels = (component: string) => ({
  'app.kubernetes.io/name': 'muster',
  'app.kubernetes.io/component': component,
});

const scenarioName = ({ name }: ClusterRun): string => `${name}-scenario`;
const claimName = ({ name, volume }: ClusterRun): string => ('claim' in volume ? volume.claim : `${name}-results`);

const scenarioOf = (run: ClusterRun) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: metadata(run, scenarioName(run), 'fleet'),
  data: { 'scenario.yaml': run.scenario },
});

const claimOf = (
  run: ClusterRun,
  { storage, storageClass }: { storage: string; storageClass?: string | undefined },
) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: metadata(run, claimName(run), 'results'),
  spec: {
    accessModes: [run.results === 'volume' ? 'ReadWriteMany' : 'ReadWriteOnce'],
    ...(storageClass !== undefined && { storageClassName: storageClass }),
    resources: { requests: { storage } },
  },
});

/** A shard that fails leaves the others measuring, and is not run again: that would be another run. */
const shardsOf = (run: ClusterRun) => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: metadata(run, `${run.name}-fleet`, 'fleet'),
  spec: {
    completionMode: 'Indexed',
    completions: run.shards,
    parallelism: run.shards,
    backoffLimitPerIndex: 0,
    template: {
      metadata: { labels: labels('fleet'), annotations: SCRAPED },
      spec: {
        ...podOf(),
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

/** The uid of the Job of a pod. */
const jobUid = () => ({ fieldRef: { fieldPath: "metadata.labels['batch.kubernetes.io/controller-uid']" } });

const SCRAPED = {
  'prometheus.io/scrape': 'true',
  'prometheus.io/port': String(METRICS_PORT),
  'prometheus.io/path': '/metrics',
};

const podOf = () => ({ restartPolicy: 'Never', automountServiceAccountToken: false, securityContext: { ...USER } });

const shardOf = (run: ClusterRun) => ({
  name: 'shard',
  image: run.image,
  imagePullPolicy: 'IfNotPresent',
  args: ['fleet', ...shardArguments(run.fleetArguments), ...delivering(run)],
  env: [
    { name: 'MUSTER_SHARDS', value: String(run.shards) },
    // Tells an index that is run again from one of another Job.
    { name: 'MUSTER_JOB_UID', valueFrom: jobUid() },
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
  securityContext: structuredClone(CONTAINER),
  volumeMounts: [
    { name: 'results', mountPath: RESULTS },
    { name: 'scenario', mountPath: '/scenario', readOnly: true },
    { name: 'temporary', mountPath: '/tmp' },
    // Files of robots lie here; the 64 MiB that a container has by default hold about 800.
    { name: 'memory', mountPath: '/dev/shm' },
  ],
});

/**
 * Keys of robots are kept on the volume of all shards. Without it each pod has new ones, and robots of its own, since a
 * platform refuses a robot that it knows by another key.
 */
function delivering(run: ClusterRun): string[] {
  if (run.results === 'volume') return [];
  const isNamed = run.fleetArguments.some((word) => word.startsWith('--name-prefix'));
  return [`--results=${urlOf(run)}`, ...(isNamed ? [] : ['--name-prefix=$(MUSTER_POD_UID)'])];
}

/** The secret that the shards and the pod that merges have in common. */
const resultsToken = ({ results, secret }: ClusterRun) =>
  results === 'volume'
    ? []
    : [{ name: 'MUSTER_RESULTS_TOKEN', valueFrom: { secretKeyRef: { name: secret, key: 'results-token' } } }];

const urlOf = (run: ClusterRun): string => `http://${mergeName(run)}:${RESULTS_PORT}`;
const mergeName = ({ name }: ClusterRun): string => `${name}-merge`;

/** Where the shards find the pod that merges. */
const serviceOf = (run: ClusterRun) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: metadata(run, mergeName(run), 'merge'),
  spec: {
    selector: { 'batch.kubernetes.io/job-name': mergeName(run) },
    ports: [{ name: 'results', port: RESULTS_PORT, targetPort: RESULTS_PORT }],
  },
});

/** What `muster fleet` is given in a shard. */
export const shardArguments = (own: readonly string[]): string[] => [
  '--shard=auto',
  '--run-id=auto',
  '--scenario=/scenario/scenario.yaml',
  ...own,
  `--state=${RESULTS}/state`,
  `--out=${RESULTS}`,
  '--metrics-host=0.0.0.0',
  `--metrics-port=${METRICS_PORT}`,
];

const resultsOf = (run: ClusterRun) => ({
  name: 'results',
  persistentVolumeClaim: { claimName: claimName(run) },
});

const served = ({ results }: ClusterRun): string[] =>
  results === 'volume' ? [] : [`--serve=${RESULTS_PORT}`, '--serve-host=0.0.0.0'];

/** One that is killed, or whose node is drained, goes on in another pod. What it exits with by itself is the end. */
const resumed = () => ({
  backoffLimit: 3,
  podFailurePolicy: {
    rules: [
      { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
      { action: 'FailJob', onExitCodes: { containerName: 'merge', operator: 'In', values: OWN_ENDS } },
    ],
  },
});

/** Exit codes above 128 are those of signals. */
const OWN_ENDS = exitCodesOf('fleet').filter((code) => code > 0 && code < 128);

const mergeOf = (run: ClusterRun) => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: metadata(run, mergeName(run), 'merge'),
  spec: {
    ...resumed(),
    template: {
      metadata: { labels: labels('merge') },
      spec: {
        ...podOf(),
        containers: [
          {
            name: 'merge',
            image: run.image,
            imagePullPolicy: 'IfNotPresent',
            args: ['merge', RESULTS, `--expect=${run.shards}`, '--watch', `--timeout=${run.timeout}`, ...served(run)],
            env: [{ name: 'MUSTER_RUN_ID', valueFrom: jobUid() }, ...resultsToken(run)],
            ...(run.results === 'network' && { ports: [{ name: 'results', containerPort: RESULTS_PORT }] }),
            resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '1Gi' } },
            securityContext: structuredClone(CONTAINER),
            volumeMounts: [{ name: 'results', mountPath: RESULTS }],
          },
        ],
        volumes: [resultsOf(run)],
      },
    },
  },
});
