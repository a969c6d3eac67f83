/**
 * Builds the Kubernetes manifests of a fleet run: one Job with a pod for each shard, and one Job that merges results.
 */

import { Document } from 'yaml';
import { memoryOf, robotCost, sensibleWorkers } from '../../simulators/fleet/run/capacity.ts';
import type { Scenario } from '../../simulators/fleet/scenario/scenario.ts';
import { exitCodesOf } from '../common/usage.ts';

export interface ShardResources {
  cpu: string;
  memory: string;
  memoryLimit: string;
  /** Size of the memory disk that holds the robots' files; `memory` includes this size. */
  files: string;
}

const MIB = 2 ** 20;
/** Fraction of the requested memory that a shard may fill; the fleet requires the remaining memory to be free. */
const USED = 0.85;
const ROBOTS_PER_CPU = 5000;
/** Factor from the size of the robots' files to the size of their disk, because event logs grow with each roll-out. */
const FILES_SPARE = 3;

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

const steps = (mebibytes: number, step: number): string => `${Math.max(1, Math.ceil(mebibytes / step)) * step}Mi`;

export interface ClusterRun {
  shards: number;
  scenario: string;
  fleetArguments: readonly string[];
  name: string;
  image: string;
  secret: string;
  volume: { claim: string } | { storage: string };
  results: 'volume' | 'network';
  resources: ShardResources;
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

/** Builds the YAML for `kubectl apply -f -`; a comment at the top quotes `line`, the command that printed the YAML. */
export function manifestsOf(run: ClusterRun, line: string): string {
  const resources = [
    scenarioOf(run),
    ...('claim' in run.volume ? [] : [claimOf(run, run.volume.storage)]),
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

const introduction = ({ name, secret, volume, results }: ClusterRun, line: string): string => {
  const conditions = `-o jsonpath='{.status.conditions[*].type}'`;
  const token = results === 'volume' ? '' : ' --from-literal=results-token=$(openssl rand -hex 16)';
  const also = 'claim' in volume ? '' : ' Deleting this whole file deletes the volume with the results.';
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

const scenarioName = ({ name }: ClusterRun): string => `${name}-scenario`;
const claimName = ({ name, volume }: ClusterRun): string => ('claim' in volume ? volume.claim : `${name}-results`);

const scenarioOf = (run: ClusterRun) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: scenarioName(run), labels: labels('fleet') },
  data: { 'scenario.yaml': run.scenario },
});

const claimOf = (run: ClusterRun, storage: string) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: claimName(run), labels: labels('results') },
  spec: {
    accessModes: [run.results === 'volume' ? 'ReadWriteMany' : 'ReadWriteOnce'],
    resources: { requests: { storage } },
  },
});

/** Never restarts a failed shard, because a second attempt would be a different run; the other shards continue. */
const shardsOf = (run: ClusterRun) => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: `${run.name}-fleet`, labels: labels('fleet') },
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
    // Enlarges /dev/shm for the robots' files; the default of 64 MiB suffices for only 800 robots.
    { name: 'memory', mountPath: '/dev/shm' },
  ],
});

/** Names robots after their pod unless pods share a volume, because platforms refuse a known robot with a new key. */
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

const serviceOf = (run: ClusterRun) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: mergeName(run), labels: labels('merge') },
  spec: {
    selector: { 'batch.kubernetes.io/job-name': mergeName(run) },
    ports: [{ name: 'results', port: RESULTS_PORT, targetPort: RESULTS_PORT }],
  },
});

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

/** Exit codes of Muster itself; a signal causes a code above 128, after which a retry may succeed. */
const OWN_ENDS = exitCodesOf('fleet').filter((code) => code > 0 && code < 128);

/** Retries a merge that a signal or a drained node has ended, but no merge that Muster has ended. */
const RESUMED = {
  backoffLimit: 3,
  podFailurePolicy: {
    rules: [
      { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
      { action: 'FailJob', onExitCodes: { containerName: 'merge', operator: 'In', values: OWN_ENDS } },
    ],
  },
};

const SERVED = [`--serve=${RESULTS_PORT}`, '--serve-host=0.0.0.0'];

const mergeOf = (run: ClusterRun) => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: mergeName(run), labels: labels('merge') },
  spec: {
    ...RESUMED,
    template: {
      metadata: { labels: labels('merge') },
      spec: {
        ...podOf(),
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
              ...(run.results === 'network' ? SERVED : []),
            ],
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
