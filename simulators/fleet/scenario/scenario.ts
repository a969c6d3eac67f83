/**
 * What a fleet does, phase by phase: the schema of a scenario file. Run this file after a change, then `npx biome check
 * --write fixtures`: it writes `fixtures/scenarios/scenario.schema.json`, with which editors complete and check
 * scenario files.
 */

import { writeFileSync } from 'node:fs';
import Type, { type Static, type TObject, type TProperties } from 'typebox';
import { type Document, isNode } from 'yaml';
import { DURATION_FORM, DURATION_WORDS, durationMs } from '../../../harness/common/durations.ts';
import { parseYaml, type Yaml, YamlError } from '../../../harness/common/yaml.ts';
import { oneOf, type Problem, type Shape, shape } from '../../../harness/contract/shape.ts';
import { checkThreshold } from '../result/thresholds.ts';
import { TRAFFIC, UPLINKS, type UplinkKind, unsuited } from './uplinks.ts';

/** What `ratePerSecond` accepts, as a regular expression for schemas, and in words. */
const RATE_FORM = '^\\d+(\\.\\d+)?/(s|m|h)$';
const RATE_WORDS = 'a number per time unit over the whole fleet, e.g. 50/s, 300/m (units s, m, h)';

/** What `shareOf` accepts. */
const SHARE_FORM = '^(100(\\.0+)?|\\d{1,2}(\\.\\d+)?)%$';
const SHARE_WORDS = 'a percentage of the fleet, 0% to 100%';

/** Events per second. Throws RangeError that says what is accepted. */
export function ratePerSecond(text: string): number {
  if (!new RegExp(RATE_FORM).test(text)) throw new RangeError(`'${text}' is not a rate: ${RATE_WORDS}`);
  const [number, unit] = text.split('/');
  return Number(number) / (durationMs(`1${unit}`) / 1000);
}

/** A fraction from 0 to 1. Throws RangeError that says what is accepted. */
export function shareOf(text: string): number {
  if (!new RegExp(SHARE_FORM).test(text)) throw new RangeError(`'${text}' is not a share: ${SHARE_WORDS}`);
  return Number(text.slice(0, -1)) / 100;
}

const SKEW_FORM = `^-?${DURATION_FORM.slice(1)}`;
const SKEW_WORDS = `${DURATION_WORDS}, negative to turn back`;

/** What each pattern of the schema accepts, in words for messages. */
export const ACCEPTED: Readonly<Record<string, string>> = {
  [DURATION_FORM]: DURATION_WORDS,
  [RATE_FORM]: RATE_WORDS,
  [SHARE_FORM]: SHARE_WORDS,
  [SKEW_FORM]: SKEW_WORDS,
};

const text = (pattern: string, purpose: string) =>
  Type.String({ pattern, description: `${purpose}: ${ACCEPTED[pattern] ?? ''}` });
const duration = (purpose: string) => text(DURATION_FORM, purpose);
const rate = (purpose: string) => text(RATE_FORM, purpose);
const share = Type.Optional(text(SHARE_FORM, 'The robots that take part, default 100%'));

export const ARRIVALS = ['constant', 'poisson', 'jitter'] as const;
/**
 * How actions are spread over time: evenly, at random (a Poisson process), or at a random time within even intervals.
 */
export type Arrivals = (typeof ARRIVALS)[number];

/** Fields of every phase: requests during the phase, and how they count. */
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
  gate: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Conditions on what was measured so far, without which the run ends after this phase',
    }),
  ),
};

const phase = <const K extends string, T extends TProperties>(kind: K, fields: T) =>
  shape(
    kind,
    Type.Object(
      { do: Type.Literal(kind), ...fields, ...traffic },
      { additionalProperties: false, title: `Phase ${kind}` },
    ),
  );

/** One shape a phase, so that a message is about the phase that the author meant. */
export const phaseShapes = {
  ramp: phase('ramp', { over: duration('Time over which the robots start, evenly') }),
  hold: phase('hold', { for: duration('Time for which the fleet stays as it is') }),
  rollout: phase('rollout', {
    share,
    over: duration('Time over which the POSTs are spread'),
    within: Type.Optional(
      duration('Time after which a robot that has not read its event has missed the roll-out, default 60s'),
    ),
  }),
  storm: phase('storm', {
    share,
    over: duration('Time over which robots drop uplink and subscribers; each reconnects at once'),
  }),
  partition: phase('partition', {
    share,
    for: duration('Time for which robots are cut off from the platform'),
  }),
  kill: phase('kill', {
    share,
    over: duration('Time over which the kills are spread'),
    down: Type.Optional(duration('Time after which a killed robot starts again, default 1s')),
  }),
  'kill-worker': phase('kill-worker', {
    down: Type.Optional(
      duration('Time after which a worker process, chosen by the seed, starts again after it was killed, default 1s'),
    ),
  }),
  'clock-skew': phase('clock-skew', { share, by: text(SKEW_FORM, 'Turns the clocks of robots') }),
  stop: phase('stop', { over: duration('Time over which the robots stop, evenly') }),
} as const;

export type PhaseKind = keyof typeof phaseShapes;
export const PHASES = Object.keys(phaseShapes) as PhaseKind[];
export type Phase = { [K in PhaseKind]: Static<(typeof phaseShapes)[K]['schema']> }[PhaseKind];

const DEFAULT_WITHIN_MS = 60_000;

/** Time after which a robot has missed a roll-out, milliseconds. */
export const withinMs = ({ within }: Extract<Phase, { do: 'rollout' }>): number =>
  within === undefined ? DEFAULT_WITHIN_MS : durationMs(within);

const head = {
  name: Type.String({ minLength: 1, description: 'The name in results and reports' }),
  description: Type.Optional(Type.String({ description: 'What the scenario is for' })),
  robots: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Number of robots; --robots overrides it' }),
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
  subscribers: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 100,
      description: 'Clients on each robot that read its event stream, default 1, and 0 for calls',
    }),
  ),
  thresholds: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Conditions on the result, e.g. rollout.ms.p99<5s; --threshold adds more',
    }),
  ),
  abort_on: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Conditions that end the run early, e.g. http.errors.rate>50%; --abort-on adds more',
    }),
  ),
  abort_after: Type.Optional(duration('Time for which one of them has to hold without a break, default 30s')),
};

/** A scenario except its phases, which are checked one by one. */
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

/** The published schema. */
export const SCHEMA_FILE = new URL('../../../fixtures/scenarios/scenario.schema.json', import.meta.url);

export const schemaText = (): string => `${JSON.stringify(scenarioJsonSchema(), null, 2)}\n`;

if (import.meta.main) writeFileSync(SCHEMA_FILE, schemaText());

// Reads a scenario file; reports every mistake with its line, its column and what is accepted there.

/** The file cannot be used. The message has a line for each mistake, `file:line:column: …`. */
export class ScenarioError extends Error {
  override name = 'ScenarioError';
}

type Path = (string | number)[];
interface Mistake {
  path: Path;
  message: string;
}
interface Property {
  description?: string;
  pattern?: string;
}

/** Parses the text of a scenario. `file` is its name in messages. Throws ScenarioError. */
export function parseScenario(text: string, file: string): Scenario {
  const { value, document, lines } = parsed(text, file);
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  const mistakes = mistakesIn(value);
  if (mistakes.length === 0) return value as Scenario;
  const inOrder = mistakes
    .map(({ path, message }) => ({ offset: offsetOf(path, document), message }))
    .toSorted((a, b) => a.offset - b.offset);
  throw new ScenarioError(inOrder.map(({ offset, message }) => `${at(offset)}: ${message}`).join('\n'));
}

function parsed(text: string, file: string): Yaml {
  try {
    return parseYaml(text);
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    const place = (at?: { line: number; col: number }): string => (at === undefined ? '' : `:${at.line}:${at.col}`);
    throw new ScenarioError(error.mistakes.map(({ message, at }) => `${file}${place(at)}: ${message}`).join('\n'));
  }
}

/** Where the value at `path` begins, or the nearest value around it that is there. */
function offsetOf(path: Path, document: Document): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node: unknown = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return document.contents?.range?.[0] ?? 0;
}

function mistakesIn(value: unknown): Mistake[] {
  if (!isMap(value)) return [{ path: [], message: `a scenario is a map of fields: ${fieldsOf(scenarioHead)}` }];
  const mistakes = against(scenarioHead, value, []);
  const phases = Array.isArray(value['phases']) ? (value['phases'] as unknown[]) : [];
  for (const [index, phase] of phases.entries()) {
    const kind = kindOf(phase);
    if (isMap(phase) && kind !== undefined) mistakes.push(...against(phaseShapes[kind], phase, ['phases', index]));
    else if (isMap(phase) && !('do' in phase)) {
      mistakes.push({ path: ['phases', index], message: `the phase lacks "do"; accepted: ${PHASES.join(', ')}` });
    }
  }
  return [...mistakes, ...contradictions(value, phases), ...conditionMistakes(value, phases)];
}

const kindOf = (phase: unknown): PhaseKind | undefined =>
  isMap(phase) ? PHASES.find((known) => known === phase['do']) : undefined;

/** What no schema can say: phases and fields that exclude each other. */
function contradictions({ uplink, subscribers }: Record<string, unknown>, phases: readonly unknown[]): Mistake[] {
  const mistakes: Mistake[] = [];
  const add = (index: number, message: string) => mistakes.push({ path: ['phases', index], message });
  for (const [index, phase] of phases.entries()) {
    const kind = kindOf(phase);
    if (!isMap(phase) || kind === undefined) continue;
    if ((kind === 'ramp') !== (index === 0)) {
      add(
        index,
        index === 0 ? "the first phase must be 'ramp': it starts the robots" : "only the first phase is 'ramp'",
      );
    }
    if (kind === 'stop' && index !== phases.length - 1) add(index, "'stop' must be the last phase");
    const reason = UPLINKS.includes(uplink as UplinkKind)
      ? unsuited(uplink as UplinkKind, { ...phase, do: kind })
      : undefined;
    if (reason !== undefined) add(index, reason);
    if (kind === 'rollout' && subscribers === 0) {
      add(index, "a 'rollout' is measured by a subscriber on the robot: subscribers must be 1 or more");
    }
  }
  return mistakes;
}

/** In every list of conditions: of the scenario, and of its phases. */
const conditionMistakes = (value: Record<string, unknown>, phases: readonly unknown[]): Mistake[] => [
  ...wrongConditions(value['thresholds'], ['thresholds']),
  ...wrongConditions(value['abort_on'], ['abort_on']),
  ...phases.flatMap((phase, index) => (isMap(phase) ? wrongConditions(phase['gate'], ['phases', index, 'gate']) : [])),
];

function wrongConditions(expressions: unknown, path: Path): Mistake[] {
  if (!Array.isArray(expressions)) return [];
  return (expressions as unknown[]).flatMap((expression, index): Mistake[] => {
    if (typeof expression !== 'string') return [];
    try {
      checkThreshold(expression);
      return [];
    } catch (error) {
      return [{ path: [...path, index], message: (error as Error).message }];
    }
  });
}

function against(shape: Shape, value: Record<string, unknown>, base: Path): Mistake[] {
  const properties = propertiesOf(shape);
  const unknown = Object.keys(value)
    .filter((name) => !(name in properties))
    .map((name) => ({ path: [...base, name], message: `unknown field '${name}'; accepted: ${fieldsOf(shape)}` }));
  const wrong = shape
    .problems(value)
    .filter((problem) => problem.path !== '' || problem.message.startsWith('lacks'))
    // `mistakesIn` reports a phase without "do", together with what is accepted.
    .filter((problem) => !(/^\/phases\/\d+$/.test(problem.path) && problem.message.startsWith('lacks')))
    .filter((problem) => !unknown.some(({ path }) => pointer(path.slice(base.length)) === problem.path))
    .map((problem) => {
      const local = problem.path.split('/').slice(1).map(step);
      const found = local.reduce<unknown>((from, key) => (from as Record<string, unknown>)?.[key], value);
      return { path: [...base, ...local], message: messageOf(problem, local, found, properties[String(local[0])]) };
    });
  return [...unknown, ...wrong];
}

/**
 * The message about a wrong value `found` at `path`; `property`: the schema of the field, unless the whole map is
 * wrong.
 */
function messageOf({ message }: Problem, path: Path, found: unknown, property: Property | undefined): string {
  if (path.length === 0) return message;
  const subject = `'${path.join('.')}' is ${JSON.stringify(found)}`;
  const accepted = message.startsWith('must match pattern') ? ACCEPTED[property?.pattern ?? ''] : undefined;
  if (accepted !== undefined) return `${subject}; accepted: ${accepted}`;
  return property?.description === undefined
    ? `${subject}: ${message}`
    : `${subject}: ${message} (${property.description})`;
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const pointer = (path: Path): string => path.map((part) => `/${part}`).join('');
const step = (part: string): string | number => (/^\d+$/.test(part) ? Number(part) : part);
const propertiesOf = ({ schema }: Shape): Record<string, Property> =>
  'properties' in schema ? (schema.properties as Record<string, Property>) : {};
const fieldsOf = (shape: Shape): string => Object.keys(propertiesOf(shape)).join(', ');
