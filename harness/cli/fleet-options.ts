import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkThreshold } from '../../simulators/fleet/result/thresholds.ts';
import { contradictionsIn, parseScenario, ScenarioError } from '../../simulators/fleet/scenario/read.ts';
import {
  LARGEST_FLEET,
  leastRobotsOf,
  type Phase,
  ratePerSecond,
  type Scenario,
  TRAFFIC_NAMES,
  UPLINKS,
} from '../../simulators/fleet/scenario/scenario.ts';
import { http } from '../common/node-http.ts';
import { UsageError, usage } from '../common/usage.ts';
import { readInputText, whyNot } from '../common/user-files.ts';
import { DIALECTS, NAMES_BY_DIALECT, SUPPORTED_VERSIONS } from '../contract/versions.ts';
import { findByName } from './find-behaviour.ts';
import { consoleOptions, type OptionsOf, type OptionTable, optionsIn, pathOfYaml } from './options.ts';

const FLEET = optionsIn('Fleet');
const PLATFORM = optionsIn('Platform');
const RESULT = optionsIn('Result');

export const fleetOptions = {
  for: FLEET.text('Repeat the scenario for this time, e.g. 72h, with an interim report each hour'),
  rate: FLEET.whole("Requests a second over the whole fleet: the scenario's lists, reads and pings, in proportion", {
    from: 1,
    to: 1_000_000,
    defaultText: "the scenario's",
  }),
  robots: FLEET.whole('Robots of the whole fleet', { from: 1, to: LARGEST_FLEET, defaultText: "the scenario's" }),
  scenario: FLEET.text('calls, rollout, steady, storm, or a YAML file', {
    defaultText: 'rollout, or calls with --uplink calls',
    path: pathOfYaml,
  }),
  workers: FLEET.whole('Worker processes', { from: 0, defaultText: 'as many as the machine can run' }),
  shard: FLEET.text(
    'Run only shard I of N, as I/N; auto reads JOB_COMPLETION_INDEX and MUSTER_SHARDS; gates and --abort-on are then ' +
      'judged by its robots alone',
  ),
  results: FLEET.text(
    'Deliver the result of this shard to `muster merge --serve` at this URL, without a shared disk; ' +
      'the token is in MUSTER_RESULTS_TOKEN',
  ),
  'run-id': FLEET.text(
    'Id of the run, the same for all of its shards; auto takes the one that merge --watch announces in --out',
    { defaultText: 'MUSTER_RUN_ID, else none' },
  ),
  'start-within': FLEET.text('Time for all shards of a run to come up; they begin together', { default: '30m' }),
  seed: FLEET.whole('Seed of arrivals, shares and faults', { default: 1 }),
  uplink: FLEET.oneOf(UPLINKS, "Uplink to use instead of the scenario's"),
  devices: FLEET.file('File with device ids, one a line, for the robots of --uplink polling or calls', {
    defaultText: 'the devices that the platform lists',
  }),
  'key-bits': FLEET.whole('RSA key of a robot', {
    from: 1024,
    to: 8192,
    defaultText: "the scenario's, else 2048; 1024 for embedded",
  }),
  'name-prefix': FLEET.text('Robots are called PREFIX-000042'),
  state: FLEET.file('Folder that keeps the keys of robots between runs', { default: '.muster/fleet' }),
  dir: FLEET.file('Folder for the files of robots during the run', { defaultText: 'in memory' }),
  keep: FLEET.flag('Leave the event logs and config files of robots when the run ends'),
  force: FLEET.flag('Continue even if the preflight check fails'),
  defect: FLEET.list('Plant a defect in one robot: NAME@INDEX, e.g. seam-gap@137'),
  platform: PLATFORM.text("Base URL of the Platform API, or embedded for Muster's own"),
  'api-key': PLATFORM.text('API key; better in MUSTER_API_KEY', { secret: 'MUSTER_API_KEY' }),
  header: PLATFORM.list(
    "NAME: VALUE to send with every request, robots' own included, e.g. for a gateway; masked in what Muster writes",
  ),
  'agent-url': PLATFORM.text("Where /agent/v1 is, when not on the platform's host"),
  mqtt: PLATFORM.text('mqtt://… or mqtts://… of the broker'),
  dialect: PLATFORM.oneOf(DIALECTS, 'Header names', { default: 'spec' }),
  'api-version': PLATFORM.oneOf(SUPPORTED_VERSIONS, 'API version to use', { defaultText: 'the newest' }),
  connections: PLATFORM.whole('Connections of a worker to the platform, at most', {
    from: 1,
    to: 60_000,
    defaultText: 'the file descriptors that its robots do not need',
  }),
  threshold: RESULT.list("E.g. 'rollout.ms.p99<5s', 'ping.ms.p99.9<1s', 'http.errors.rate<1%', 'ping.ms.count>=100'"),
  judge: RESULT.flag(
    "Judge a sample of the platform's answers by the rules of its suite: a MUST that does not hold fails the run",
  ),
  'abort-on': RESULT.list(
    "End the run early if this held during the last abort_after of the scenario (30s), e.g. 'http.errors.rate>50%'",
  ),
  out: RESULT.file('Folder for result.json and report.html', { default: 'muster-report/fleet' }),
  ...consoleOptions,
  'metrics-port': RESULT.port('Serve Prometheus metrics on this port'),
  'metrics-host': RESULT.text('Address to serve metrics on', { default: '127.0.0.1' }),
} as const satisfies OptionTable;

export type FleetArguments = OptionsOf<typeof fleetOptions>;

export function shardFrom(text: string | undefined, env: NodeJS.ProcessEnv) {
  if (text === undefined) return undefined;
  if (text === 'auto') {
    const [index, count] = [env['JOB_COMPLETION_INDEX'], env['MUSTER_SHARDS']];
    if (!/^\d+$/.test(index ?? '') || !/^[1-9]\d*$/.test(count ?? '') || Number(index) >= Number(count))
      throw new UsageError(
        `--shard auto: needs JOB_COMPLETION_INDEX from 0 and MUSTER_SHARDS above it, got ${index ?? 'nothing'} ` +
          `and ${count ?? 'nothing'}`,
      );
    return { index: Number(index) + 1, count: Number(count) };
  }
  const match = /^([1-9]\d*)\/([1-9]\d*)$/.exec(text);
  const [index, count] = [Number(match?.[1]), Number(match?.[2])];
  if (match === null || index > count)
    throw new UsageError(`--shard: '${text}' is not accepted; accepted: I/N with I from 1 to N, e.g. 2/8, or auto`);
  return { index, count };
}

export function runIdFrom(text: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  const id = text ?? (env['MUSTER_RUN_ID'] || undefined);
  if (id === undefined || /^[A-Za-z0-9][\w.-]{0,62}$/.test(id)) return id;
  throw new UsageError(
    `--run-id: '${id}' is not accepted; accepted: up to 63 letters, digits, dots, dashes or underscores, a ` +
      'letter or digit first',
  );
}

export function scenarioFrom(
  args: Partial<Pick<FleetArguments, 'scenario' | 'uplink' | 'rate'>>,
  read = readScenario(args.scenario ?? (args.uplink === 'calls' ? 'calls' : 'rollout')),
): Scenario {
  const { uplink, rate } = args;
  const scenario = rate === undefined ? read.scenario : atRate(read.scenario, rate);
  if (uplink === undefined) return scenario;
  const [reason] = contradictionsIn({ ...scenario, uplink });
  if (reason !== undefined) throw new UsageError(`--uplink ${uplink}: ${reason}; --scenario names another`);
  if (uplink !== 'polling' || !read.isBuiltIn) return { ...scenario, uplink };
  const thresholds = (scenario.thresholds ?? []).flatMap((each) => POLLING_BOUNDS[each] ?? each);
  return { ...scenario, uplink, thresholds };
}

/** Replaces built-in bounds for polling robots, which begin a roll-out up to 10 s later and answer no ping. */
const POLLING_BOUNDS: Record<string, readonly string[]> = {
  'rollout.ms.p99<5s': ['rollout.ms.p99<15s'],
  'ping.ms.p99<1s': [],
};

function atRate(scenario: Scenario, rate: number): Scenario {
  const rateOf = (phase: Phase, name: (typeof TRAFFIC_NAMES)[number]): number => ratePerSecond(phase[name] ?? '0/s');
  const phases = scenario.phases.map((phase): Phase => {
    const sum = TRAFFIC_NAMES.reduce((all, name) => all + rateOf(phase, name), 0);
    if (sum === 0) return phase;
    const names = TRAFFIC_NAMES.filter((name) => phase[name] !== undefined);
    const scaled = names.map((name) => [name, `${((rateOf(phase, name) * rate) / sum).toFixed(4)}/s`]);
    return { ...phase, ...Object.fromEntries(scaled) };
  });
  if (phases.some((phase, at) => phase !== scenario.phases[at])) return { ...scenario, phases };
  const accepted = `a scenario with ${TRAFFIC_NAMES.join(', ')}, such as calls or steady`;
  throw new UsageError(`--rate: the scenario ${scenario.name} has no traffic to set; accepted: ${accepted}`);
}

const OWN_HEADERS = [
  ...['x-api-key', 'authorization', 'host', 'connection', 'content-.*', 'transfer-encoding'],
  ...Object.values(NAMES_BY_DIALECT).flatMap(({ versionHeader, agentHeaderPrefix: agent }) => [
    versionHeader,
    `${agent}-.*`,
  ]),
];

/** Throws a UsageError that leaves out the value of the header, because the value may be a secret. */
export function headersFrom(lines: readonly string[] = []): Record<string, string> {
  const headers = lines.map((line): [string, string] => {
    const [name = '', ...rest] = line.split(':');
    const value = rest.join(':').trim();
    if (rest.length === 0 || value === '')
      throw new UsageError(
        "--header: a line without a name or a value; accepted: 'NAME: VALUE', e.g. 'X-Tenant: acme'",
      );
    if (new RegExp(`^(${OWN_HEADERS.join('|')})$`, 'i').test(name))
      throw new UsageError(`--header: ${name} is set by the fleet itself; accepted: any other name`);
    try {
      http.validateHeaderName(name);
      http.validateHeaderValue(name, value);
    } catch {
      throw new UsageError(
        `--header: '${name.slice(0, 40)}' is no name of a header, or its value has a character that none may have`,
      );
    }
    return [name, value];
  });
  return Object.fromEntries(headers);
}

export function readScenario(name: string): { scenario: Scenario; text: string; isBuiltIn: boolean } {
  // The modules of the package lie one folder deeper.
  const places = ['../../fixtures/scenarios/', '../../../fixtures/scenarios/'];
  const dir = places.map((place) => fileURLToPath(new URL(place, import.meta.url))).find((place) => existsSync(place));
  const files = dir === undefined ? [] : readdirSync(dir).filter((each) => each.endsWith('.yaml'));
  const ready = new Map(files.sort().map((each) => [each.replace('.yaml', ''), join(dir ?? '', each)]));
  const file = ready.get(name) ?? name;
  let text: string;
  try {
    text = readInputText(file);
  } catch (error) {
    throw new UsageError(
      `--scenario: cannot read ${name} (${whyNot(error)}); accepted: a YAML file, or ${[...ready.keys()].join(', ')}`,
    );
  }
  try {
    return { scenario: parseScenario(text, file), text, isBuiltIn: ready.has(name) };
  } catch (error) {
    if (error instanceof ScenarioError) throw new UsageError(`--scenario:\n${error.message}`);
    throw error;
  }
}

export async function defectsFrom(texts: readonly string[] | undefined, robots: number) {
  if (texts === undefined) return undefined;
  const { deviceDefects } = await import('../../simulators/defects/device/index.ts');
  const defects: Record<number, string> = {};
  for (const text of texts) {
    const [, name = '', index = ''] = /^([a-z0-9-]+)@(\d+)$/.exec(text) ?? [];
    if (index === '' || Number(index) >= robots)
      throw new UsageError(
        `--defect: '${text}' is not accepted; accepted: NAME@INDEX with an index from 0 to ${robots - 1}, ` +
          'e.g. seam-gap@0',
      );
    defects[Number(index)] = findByName('--defect', name, deviceDefects, 'device').name;
  }
  return defects;
}

export function devicesFrom(file: string): string[] {
  const refuse = (why: string) =>
    new UsageError(`--devices: ${file}${why}; accepted: a file with an id on each line, and comments after #`);
  let text: string;
  try {
    text = readInputText(file);
  } catch (error) {
    throw refuse(` cannot be read (${whyNot(error)})`);
  }
  const ids = text.split('\n').map((line) => line.replace(/(^|\s)#.*/, '').trim());
  const wrong = ids.findIndex((id) => /\s/.test(id));
  if (wrong >= 0) throw refuse(`:${wrong + 1}: is not an id alone`);
  const devices = ids.filter((id) => id !== '');
  if (devices.length === 0) throw refuse(' has no id');
  return devices;
}

export function conditionsFrom(expressions: readonly string[] = [], scenario?: Scenario, option = '--threshold') {
  const parts = scenario && { classes: Object.keys(scenario.classes ?? {}), phases: scenario.phases };
  for (const expression of expressions) usage(option, () => checkThreshold(expression, parts));
  return expressions;
}

/** Returns a warning for each class without robots. Throws UsageError if a phase or condition needs such a class. */
export function emptyClasses(scenario: Scenario, robots: number, conditions: readonly string[]): string[] {
  const { classes = {}, phases, thresholds = [], abort_on = [] } = scenario;
  const judged = [...conditions, ...thresholds, ...abort_on, ...phases.flatMap(({ gate = [] }) => gate)];
  return Object.entries(classes).flatMap(([name, { share }]) => {
    const least = leastRobotsOf(scenario, name);
    if (least !== undefined && least <= robots) return [];
    const enough = least === undefined ? 'a larger share' : `--robots ${least} or more`;
    const empty = `the class ${name} has a share of ${share}, and gets none of ${robots} robots`;
    const phase = phases.findIndex((each) => 'class' in each && each.class === name);
    const condition = judged.find((text) => new RegExp(`[{,]\\s*class\\s*=\\s*${name}\\s*[,}]`).test(text));
    if (phase < 0 && condition === undefined) return [`${empty}; ${enough} gives it one`];
    const where = phase < 0 ? `'${condition}'` : `phase ${phase + 1} (${phases[phase]?.do})`;
    throw new UsageError(`--robots: ${empty}, so ${where} cannot be measured; accepted: ${enough}`);
  });
}
