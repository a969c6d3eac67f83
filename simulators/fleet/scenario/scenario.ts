/**
 * Schema of scenario files, with classes of robots. After a change, run this file and then `npx biome check --write
 * fixtures`, to update `fixtures/scenarios/scenario.schema.json`.
 */
import { writeFileSync } from 'node:fs';
import type { Static, TObject, TProperties } from 'typebox';
import { DURATION_FORM, DURATION_WORDS, durationMs } from '../../../harness/common/units.ts';
import { exact, oneOf, shape, Type } from '../../../harness/contract/shape.ts';

export const UPLINKS = ['agent', 'polling', 'calls', 'none'] as const;
/**
 * `agent`: robots use the agent protocol. `polling`: robots use the Platform API. `calls`: idle robots stand for
 * existing devices, and only the fleet calls the platform. `none`: robots use no platform.
 */
export type UplinkKind = (typeof UPLINKS)[number];

export const CONNECTED_UPLINKS = ['agent', 'polling'] as const satisfies UplinkKind[];

export const TRAFFIC = {
  ping: { action: 'ping', purpose: 'Rate of pings of devices through the platform' },
  lists: { action: 'list', purpose: 'Rate of reads of one page of the list of devices' },
  reads: { action: 'read', purpose: 'Rate of reads of a single device' },
  expands: { action: 'expand', purpose: 'Rate of reads of a page of devices with their deployments expanded' },
} as const;
export type Traffic = keyof typeof TRAFFIC;
export type TrafficAction = (typeof TRAFFIC)[Traffic]['action'];
export const TRAFFIC_NAMES = Object.keys(TRAFFIC) as Traffic[];

const RATE_FORM = '^\\d+(\\.\\d+)?/(s|m|h)$';
const RATE_WORDS = 'a number per time unit over the whole fleet, e.g. 50/s, 300/m (units s, m, h)';
export const SHARE_FORM = '^(100(\\.0+)?|\\d{1,2}(\\.\\d+)?)%$';
const SHARE_WORDS = 'a percentage, 0% to 100%';
const SOME_FORM = SHARE_FORM.replace('\\d{1,2}', '(?!0+(\\.0+)?%)\\d{1,2}');
const SOME_WORDS = 'a percentage of the fleet, more than 0% up to 100%; at least one robot takes part';

export function ratePerSecond(text: string): number {
  const [number, unit] = text.split('/');
  return Number(number) / (durationMs(`1${unit}`) / 1000);
}

/** Returns a number from 0 to 1, e.g. of `25%`. Throws RangeError. */
export function shareOf(text: string): number {
  if (!new RegExp(SHARE_FORM).test(text)) throw new RangeError(`'${text}' is not a share: ${SHARE_WORDS}`);
  return Number(text.slice(0, -1)) / 100;
}

const SKEW_FORM = `^-?${DURATION_FORM.slice(1)}`;
const SKEW_WORDS = `${DURATION_WORDS}, negative to turn back`;
const CLASS_FORM = '^[a-z][a-z0-9_]*$';

export const ACCEPTED: Readonly<Record<string, string>> = {
  [DURATION_FORM]: DURATION_WORDS,
  [RATE_FORM]: RATE_WORDS,
  [SHARE_FORM]: SHARE_WORDS,
  [SOME_FORM]: SOME_WORDS,
  [SKEW_FORM]: SKEW_WORDS,
  [CLASS_FORM]: 'small letters, digits and _, a letter first, e.g. arm_2',
};

const text = (pattern: string, purpose: string) =>
  Type.String({ pattern, description: `${purpose}: ${ACCEPTED[pattern] ?? ''}` });
const duration = (purpose: string) => text(DURATION_FORM, purpose);
const rate = (purpose: string) => text(RATE_FORM, purpose);
const conditions = (description: string) => Type.Optional(Type.Array(Type.String(), { description }));
const share = Type.Optional(text(SOME_FORM, 'The robots that take part, default 100%'));
const events = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 100_000,
    description:
      'Events that happen on each of them meanwhile: its log is so much longer when it comes back, default none',
  }),
);
const ofClass = Type.Optional(
  Type.String({ description: 'The class of the robots that take part, also in the traffic, default all of them' }),
);

export const ARRIVALS = ['constant', 'poisson', 'jitter'] as const;
export type Arrivals = (typeof ARRIVALS)[number];

const traffic = {
  ping: Type.Optional(rate(TRAFFIC.ping.purpose)),
  lists: Type.Optional(rate(TRAFFIC.lists.purpose)),
  reads: Type.Optional(rate(TRAFFIC.reads.purpose)),
  expands: Type.Optional(rate(TRAFFIC.expands.purpose)),
  arrivals: Type.Optional(
    oneOf(
      ARRIVALS,
      'How actions are spread over time: evenly, at random (default), or at a random time within even intervals',
    ),
  ),
  measure: Type.Optional(
    Type.Boolean({ description: 'Whether metrics include this phase, default true; false for a warm-up' }),
  ),
  gate: conditions(
    'Conditions on what was measured so far, without which the run ends after this phase; each shard judges its ' +
      'own robots alone',
  ),
};

const phase = <const K extends string, T extends TProperties>(kind: K, fields: T) => {
  const options = { additionalProperties: false, title: `Phase ${kind}` };
  return shape(kind, Type.Object({ do: Type.Literal(kind), ...fields, ...traffic }, options));
};

/** Shapes by kind of phase, so that error messages name only fields of that kind. */
export const phaseShapes = {
  ramp: phase('ramp', { over: duration('Time over which the robots start, evenly') }),
  hold: phase('hold', { class: ofClass, for: duration('Time for which the fleet stays as it is') }),
  rollout: phase('rollout', {
    class: ofClass,
    share,
    over: duration('Time over which the POSTs are spread'),
    release: Type.Optional(
      Type.String({
        pattern: CLASS_FORM,
        description:
          'The release by a name: phases that share it are stages of one roll-out, each up to its share and to ' +
          'robots that lack it. Default: a release of its own',
      }),
    ),
    within: Type.Optional(
      duration('Time after which a robot that has not read its event has missed the roll-out, default 60s'),
    ),
  }),
  storm: phase('storm', {
    class: ofClass,
    share,
    over: duration('Time over which robots drop uplink and subscribers; each reconnects at once'),
  }),
  partition: phase('partition', {
    class: ofClass,
    share,
    for: duration('Time for which robots are cut off from the platform'),
    events,
  }),
  kill: phase('kill', {
    class: ofClass,
    share,
    over: duration('Time over which the kills are spread'),
    down: Type.Optional(duration('Time after which a killed robot starts again, default 1s')),
    events,
  }),
  'clock-skew': phase('clock-skew', { class: ofClass, share, by: text(SKEW_FORM, 'Turns the clocks of robots') }),
  stop: phase('stop', { over: duration('Time over which the robots stop, evenly') }),
} as const;

export type PhaseKind = keyof typeof phaseShapes;
export const PHASES = Object.keys(phaseShapes) as PhaseKind[];
export type Phase = { [K in PhaseKind]: Static<(typeof phaseShapes)[K]['schema']> }[PhaseKind];

export const withinMs = ({ within = '60s' }: Extract<Phase, { do: 'rollout' }>): number => durationMs(within);

const subscribers = (fallback: string) =>
  Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 100,
      description: `Clients on each robot that read its event stream, default ${fallback}`,
    }),
  );

const robotClass = exact({
  share: text(SHARE_FORM, 'The robots that belong to this class'),
  subscribers: subscribers('that of the scenario'),
  uplink: Type.Optional(
    oneOf(CONNECTED_UPLINKS, 'agent or polling, default that of the scenario; needs one of these there'),
  ),
  agent_version: Type.Optional(
    Type.String({ minLength: 1, description: 'The version that its agents report to the platform' }),
  ),
  retain: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Events that each robot keeps in its log at least, default 200' }),
  ),
});
type RobotClass = Static<typeof robotClass>;

export const LARGEST_FLEET = 1_000_000;

const head = {
  name: Type.String({ minLength: 1, description: 'The name in results and reports' }),
  description: Type.Optional(Type.String({ description: 'What the scenario is for' })),
  robots: Type.Optional(
    Type.Integer({ minimum: 1, maximum: LARGEST_FLEET, description: 'Number of robots; --robots overrides it' }),
  ),
  uplink: Type.Optional(
    oneOf(
      UPLINKS,
      'agent (HTTP and MQTT, default), polling (public Platform API only), calls (of devices that exist) or none',
    ),
  ),
  poll_every: Type.Optional(duration('Interval of a polling uplink, default 10s')),
  key_bits: Type.Optional(
    Type.Integer({
      minimum: 1024,
      maximum: 8192,
      description: "Size of the robots' RSA keys, default 2048; --key-bits overrides it",
    }),
  ),
  subscribers: subscribers('1, and 0 for calls'),
  classes: Type.Optional(
    Type.Record(Type.String({ pattern: CLASS_FORM }), robotClass, {
      minProperties: 1,
      additionalProperties: false,
      description: 'Kinds of robots by name; their shares add up to 100%, and figures are told by class as well',
    }),
  ),
  thresholds: conditions(
    'Conditions on the result, e.g. rollout.ms.p99<5s, or rollout.ms{class=arm,phase=storm}.p99<5s of a part ' +
      'of it; --threshold adds more',
  ),
  abort_on: conditions(
    'Conditions that end the run early, e.g. http.errors.rate>50%; --abort-on adds more; ' +
      'each shard judges its own robots alone',
  ),
  abort_after: Type.Optional(
    duration('The last so much of the run, which alone decides whether one of them holds, default 30s'),
  ),
};

const phaseHeads = Type.Array(Type.Object({ do: oneOf(PHASES) }), { minItems: 1 });
export const scenarioHead = shape('Scenario', exact({ ...head, phases: phaseHeads }));

export interface Scenario extends Static<TObject<typeof head>> {
  phases: Phase[];
}

export type PhaseFields = { readonly do: string } & Partial<Readonly<Record<Traffic, unknown>>>;

export function unsuited(uplink: UplinkKind, phase: PhaseFields): string | undefined {
  const { do: kind } = phase;
  if (uplink === 'calls') {
    if (kind === 'rollout') return "this 'rollout' phase needs an uplink that deploys (agent, polling), not calls";
    if (!['storm', 'partition', 'kill', 'clock-skew'].includes(kind)) return undefined;
    return `this '${kind}' phase needs robots with a connection of their own (agent, polling), and uplink is calls`;
  }
  if (uplink !== 'none') return undefined;
  const asked = TRAFFIC_NAMES.find((name) => phase[name] !== undefined);
  if (kind !== 'rollout' && kind !== 'partition' && asked === undefined) return undefined;
  const enough = kind === 'rollout' || kind === 'partition' ? '' : `; for '${asked}' alone, calls will do`;
  return `this '${kind}' phase needs an uplink, but uplink is none${enough}`;
}

export const subscribersOf = (scenario: { uplink?: UplinkKind; subscribers?: number }): number =>
  scenario.subscribers ?? (scenario.uplink === 'calls' ? 0 : 1);

export const robotName = (prefix: string, index: number): string => `${prefix}-${String(index).padStart(6, '0')}`;

export const indexIn = (name: string): number => Number(/\d+$/.exec(name)?.[0]);

export const USUAL_RETAIN = 200;

interface Classed {
  classes?: Scenario['classes'] | undefined;
}

const bounds = new WeakMap<object, { name: string; below: number }[]>();

/** Class of a robot, which follows only from index and shares, so that all shards and workers agree. */
export function classOf({ classes }: Classed, robot: number): string | undefined {
  if (classes === undefined) return undefined;
  let all = bounds.get(classes);
  if (all === undefined) {
    let below = 0;
    all = Object.entries(classes).map(([name, { share }]) => {
      below += shareOf(share);
      return { name, below };
    });
    bounds.set(classes, all);
  }
  // Multiples of the golden ratio spread each class evenly over the indices.
  const at = (robot * ((Math.sqrt(5) - 1) / 2)) % 1;
  // Falls back to the last class, because the shares may add up to slightly less than 1.
  return (all.find(({ below }) => at < below) ?? all.at(-1))?.name;
}

export function settingsOf(scenario: Scenario, robot: number): Omit<RobotClass, 'share'> & { subscribers: number } {
  const own = scenario.classes?.[classOf(scenario, robot) ?? ''];
  return { ...own, subscribers: own?.subscribers ?? subscribersOf(scenario) };
}

export const uplinkOf = (scenario: Scenario, robot: number): UplinkKind =>
  settingsOf(scenario, robot).uplink ?? scenario.uplink ?? 'agent';

export const uplinksIn = ({ uplink = 'agent', classes = {} }: Pick<Scenario, 'uplink' | 'classes'>): UplinkKind[] => {
  const own = Object.values(classes).map((each) => each.uplink ?? uplink);
  return own.length === 0 ? [uplink] : [...new Set(own)];
};

export const meanOf = ({ classes }: Classed, of: (own: Omit<RobotClass, 'share'>) => number): number =>
  Object.values(classes ?? { all: { share: '100%' } }).reduce((sum, own) => sum + shareOf(own.share) * of(own), 0);

export const robotsOf = (scenario: Classed, robots: number, name: string): number[] =>
  Array.from({ length: robots }, (_, robot) => robot).filter((robot) => classOf(scenario, robot) === name);

export function leastRobotsOf(scenario: Classed, name: string): number | undefined {
  for (let robot = 0; robot < LARGEST_FLEET; robot += 1) if (classOf(scenario, robot) === name) return robot + 1;
  return undefined;
}

export function scenarioJsonSchema(): object {
  const phases = Type.Array(Type.Union(PHASES.map((kind) => phaseShapes[kind].schema)), { minItems: 1 });
  const schema = exact({ ...head, phases });
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'scenario.schema.json',
    title: 'Muster fleet scenario',
    ...(JSON.parse(JSON.stringify(schema)) as object),
  };
}

export const SCHEMA_FILE = new URL('../../../fixtures/scenarios/scenario.schema.json', import.meta.url);

export const schemaText = (): string => `${JSON.stringify(scenarioJsonSchema(), null, 2)}\n`;

if (import.meta.main) writeFileSync(SCHEMA_FILE, schemaText());
