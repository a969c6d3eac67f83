/**
 * What a fleet does, phase by phase: the schema of a scenario file. `fixtures/scenarios/scenario.schema.json` is generated from
 * it (`node simulators/fleet/scenario/scenario-schema.ts`), so that editors complete and check scenario files.
 */
import Type, { type Static, type TObject, type TProperties } from 'typebox';
import { oneOf, shape } from '../../../harness/contract/shape.ts';
import { DURATION_FORM, DURATION_WORDS, RATE_FORM, RATE_WORDS, SHARE_FORM, SHARE_WORDS } from './units.ts';

const duration = (what: string) => Type.String({ pattern: DURATION_FORM, description: `${what}: ${DURATION_WORDS}` });
const rate = (what: string) => Type.String({ pattern: RATE_FORM, description: `${what}: ${RATE_WORDS}` });
const share = Type.Optional(Type.String({ pattern: SHARE_FORM, description: `${SHARE_WORDS}; default 100%` }));

export const UPLINKS = ['agent', 'polling', 'none'] as const;
export type UplinkKind = (typeof UPLINKS)[number];

export const ARRIVALS = ['constant', 'poisson', 'jitter'] as const;
/** How the moments of a rate are laid out: evenly, memoryless, or evenly with each moved within its own interval. */
export type Arrivals = (typeof ARRIVALS)[number];

const SKEW_FORM = `^-?${DURATION_FORM.slice(1)}`;

/** Present in every phase: requests that go on while it lasts. */
const traffic = {
  ping: Type.Optional(rate('Pings of devices through the platform')),
  lists: Type.Optional(rate('Walks through one page of a platform list')),
  arrivals: Type.Optional(oneOf(ARRIVALS, 'How moments are laid out over time; default poisson')),
  measure: Type.Optional(Type.Boolean({ description: 'false: a warm-up, kept out of all metrics; default true' })),
};

const phase = <const K extends string, T extends TProperties>(kind: K, fields: T) =>
  shape(
    kind,
    Type.Object(
      { do: Type.Literal(kind), ...fields, ...traffic },
      { additionalProperties: false, title: `Phase ${kind}` },
    ),
  );

/** One shape a phase, so that a problem is told in terms of the phase that was meant. */
export const phaseShapes = {
  ramp: phase('ramp', { over: duration('Starts the robots evenly over this time') }),
  hold: phase('hold', { for: duration('Keeps the fleet as it is') }),
  rollout: phase('rollout', {
    share,
    over: duration('Spreads the POSTs over this time'),
    within: Type.Optional(duration('A robot that has read no event by then counts as missed; default 60s')),
  }),
  storm: phase('storm', {
    share,
    over: duration('The robots of the share drop uplink and subscribers within this time, and come back at once'),
  }),
  partition: phase('partition', {
    share,
    for: duration('The robots of the share are cut off from the platform for this time'),
  }),
  kill: phase('kill', {
    share,
    over: duration('Spreads the kills over this time'),
    down: Type.Optional(duration('A killed robot starts again after this time; default 1s')),
  }),
  'kill-worker': phase('kill-worker', {
    down: Type.Optional(
      duration(
        'One worker process, picked by seed among --workers, is killed and starts again after this time; default 1s',
      ),
    ),
  }),
  'clock-skew': phase('clock-skew', {
    share,
    by: Type.String({ pattern: SKEW_FORM, description: `Moves the clocks, back when negative: ${DURATION_WORDS}` }),
  }),
  stop: phase('stop', { over: duration('Stops the robots evenly over this time') }),
} as const;

export type PhaseKind = keyof typeof phaseShapes;
export const PHASES = Object.keys(phaseShapes) as PhaseKind[];
export type Phase = { [K in PhaseKind]: Static<(typeof phaseShapes)[K]['schema']> }[PhaseKind];

const head = {
  name: Type.String({ minLength: 1, description: 'Shown in results and reports' }),
  description: Type.Optional(Type.String()),
  robots: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Unless --robots says otherwise' }),
  ),
  uplink: Type.Optional(oneOf(UPLINKS, 'agent (HTTP + MQTT, default), polling (public Platform API only) or none')),
  poll_every: Type.Optional(duration('Interval of a polling uplink; default 10s')),
  key_bits: Type.Optional(
    Type.Integer({ minimum: 1024, maximum: 8192, description: 'RSA key of a robot; default 2048; unless --key-bits' }),
  ),
  subscribers: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 100,
      description: 'Clients on each robot that read its event stream; default 1',
    }),
  ),
  thresholds: Type.Optional(
    Type.Array(Type.String(), { description: 'E.g. rollout.ms.p99<5s; --threshold adds more' }),
  ),
};

/** All of a scenario but its phases, which are checked one by one. */
export const scenarioHead = shape(
  'Scenario',
  Type.Object(
    { ...head, phases: Type.Array(Type.Object({ do: oneOf(PHASES) }), { minItems: 1 }) },
    { additionalProperties: false },
  ),
);

export interface Scenario extends Static<TObject<typeof head>> {
  phases: Phase[];
}

/** The published JSON Schema. */
export function scenarioJsonSchema(): object {
  const schema = Type.Object(
    {
      ...head,
      phases: Type.Array(Type.Union(PHASES.map((kind) => phaseShapes[kind].schema)), { minItems: 1 }),
    },
    { additionalProperties: false },
  );
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'scenario.schema.json',
    title: 'Muster fleet scenario',
    ...(JSON.parse(JSON.stringify(schema)) as object),
  };
}
