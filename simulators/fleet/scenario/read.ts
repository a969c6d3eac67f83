import { type Document, isNode } from 'yaml';
import { isObject } from '../../../harness/common/lenient.ts';
import { parseYaml, type Yaml, YamlError } from '../../../harness/common/yaml.ts';
import { type Problem, type Shape, stepsOf } from '../../../harness/contract/shape.ts';
import { checkThreshold, meant } from '../result/thresholds.ts';
import {
  ACCEPTED,
  CONNECTED_UPLINKS,
  PHASES,
  type PhaseKind,
  phaseShapes,
  type Scenario,
  SHARE_FORM,
  scenarioHead,
  shareOf,
  type UplinkKind,
  unsuited,
} from './scenario.ts';

type Path = (string | number)[];
interface Mistake {
  path: Path;
  message: string;
}

/** The message has a line `file:line:column: …` for each mistake. */
export class ScenarioError extends Error {
  override name = 'ScenarioError';
}

interface Property {
  description?: string;
  pattern?: string;
  enum?: readonly string[];
  properties?: Record<string, Property>;
  patternProperties?: Record<string, Property>;
  items?: Property;
}

const within = (property: Property | undefined, key: string | number): Property | undefined =>
  typeof key === 'number'
    ? property?.items
    : (property?.properties?.[key] ?? Object.values(property?.patternProperties ?? {})[0]);

/** Throws ScenarioError. `file`: file name in messages. */
export function parseScenario(text: string, file: string): Scenario {
  const { value, document, lines } = parsed(text, file);
  const mistakes = mistakesIn(value)
    .map(({ path, message }) => ({ offset: offsetOf(path, document), message }))
    .toSorted((a, b) => a.offset - b.offset);
  if (mistakes.length === 0) return value as Scenario;
  const messages = mistakes.map(({ offset, message }) => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}: ${message}`;
  });
  throw new ScenarioError(messages.join('\n'));
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

function offsetOf(path: Path, document: Document): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node: unknown = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return document.contents?.range?.[0] ?? 0;
}

export const contradictionsIn = (scenario: Scenario): string[] =>
  contradictions(scenario as unknown as Record<string, unknown>, scenario.phases).map(({ message }) => message);

function mistakesIn(value: unknown): Mistake[] {
  const fields = Object.keys(scenarioHead.schema.properties);
  if (!isObject(value)) return [{ path: [], message: `a scenario is a map of fields: ${fields.join(', ')}` }];
  const mistakes = against(scenarioHead, value, []);
  const phases = Array.isArray(value['phases']) ? (value['phases'] as unknown[]) : [];
  for (const [index, phase] of phases.entries()) {
    const kind = kindOf(phase);
    if (isObject(phase) && kind !== undefined) mistakes.push(...against(phaseShapes[kind], phase, ['phases', index]));
    else if (isObject(phase) && !('do' in phase))
      mistakes.push({ path: ['phases', index], message: `the phase lacks "do"; accepted: ${PHASES.join(', ')}` });
  }
  return [...mistakes, ...contradictions(value, phases)];
}

function against(shape: Shape, value: Record<string, unknown>, base: Path): Mistake[] {
  return (
    shape
      .problems(value)
      .filter((problem) => problem.path !== '' || problem.message.startsWith('lacks'))
      // Drops the problem of a phase without `do`, which `mistakesIn` reports with the accepted kinds.
      .filter((problem) => !(/^\/phases\/\d+$/.test(problem.path) && problem.message.startsWith('lacks')))
      .map((problem) => {
        const local = stepsOf(problem);
        const found = local.reduce<unknown>((from, key) => (from as Record<string, unknown>)?.[key], value);
        return { path: [...base, ...local], message: messageOf(problem, local, found, shape.schema) };
      })
  );
}

function messageOf({ message }: Problem, path: Path, found: unknown, schema: Property): string {
  const name = path.at(-1);
  if (name === undefined) return message;
  const around = path.slice(0, -1).reduce<Property | undefined>(within, schema);
  if (message === 'is not known here') {
    const [form] = Object.keys(around?.patternProperties ?? {});
    if (form !== undefined) return `'${path.join('.')}' is not accepted as a name; accepted: ${ACCEPTED[form] ?? form}`;
    return `unknown field '${path.join('.')}'; ${acceptedOf(name, Object.keys(around?.properties ?? {}))}`;
  }
  const subject = `'${path.join('.')}' is ${JSON.stringify(found)}`;
  if (name === 'do') return `'do' is ${JSON.stringify(found)}; ${acceptedOf(found, PHASES)}`;
  const { description, enum: values, pattern = '' } = within(around, name) ?? {};
  const accepted = ACCEPTED[pattern];
  if (accepted !== undefined) return `${subject}; accepted: ${accepted}`;
  if (values !== undefined) return `${subject}; ${acceptedOf(found, values)}`;
  return description === undefined ? `${subject}: ${message}` : `${subject}: ${message} (${description})`;
}

const acceptedOf = (given: unknown, known: readonly string[]): string =>
  `accepted: ${known.join(', ')}${meant(String(given), known)}`;

const kindOf = (phase: unknown): PhaseKind | undefined =>
  isObject(phase) ? PHASES.find((known) => known === phase['do']) : undefined;

/** Mistakes that the schema cannot express; fields may break the schema too, and have any type. */
function contradictions(scenario: Record<string, unknown>, phases: readonly unknown[]): Mistake[] {
  const classMistakes = [...shareMistakes(scenario), ...uplinkMistakes(scenario)];
  return [...classMistakes, ...phaseMistakes(scenario, phases), ...conditionMistakes(scenario, phases)];
}

function phaseMistakes(scenario: Record<string, unknown>, phases: readonly unknown[]): Mistake[] {
  const { uplink } = scenario;
  const classes = classesIn(scenario);
  const mistakes: Mistake[] = [];
  const add = (index: number, message: string) => mistakes.push({ path: ['phases', index], message });
  for (const [index, phase] of phases.entries()) {
    const kind = kindOf(phase);
    if (!isObject(phase) || kind === undefined) continue;
    if (kind !== 'ramp' && index === 0) add(index, "the first phase must be 'ramp': it starts the robots");
    if (kind === 'ramp' && index > 0) add(index, "only the first phase is 'ramp'");
    if (kind === 'stop' && index !== phases.length - 1) add(index, "'stop' must be the last phase");
    const reason = unsuited(uplink as UplinkKind, { ...phase, do: kind });
    if (reason !== undefined) add(index, reason);
    const { class: wanted } = phase;
    if (typeof wanted === 'string' && !classes.includes(wanted)) {
      const accepted = classes.length === 0 ? 'the scenario has no classes' : acceptedOf(wanted, classes);
      mistakes.push({ path: ['phases', index, 'class'], message: `there is no class '${wanted}'; ${accepted}` });
    }
    if (kind === 'rollout' && subscribersIn(scenario, wanted).includes(0))
      add(index, "a 'rollout' is measured by a subscriber on the robot: subscribers must be 1 or more");
  }
  return mistakes;
}

const classesIn = ({ classes }: Record<string, unknown>): string[] => (isObject(classes) ? Object.keys(classes) : []);

function subscribersIn({ classes, subscribers }: Record<string, unknown>, name: unknown): unknown[] {
  const all = isObject(classes) ? Object.entries(classes).filter(([own]) => name === undefined || own === name) : [];
  if (all.length === 0) return [subscribers];
  return all.map(([, own]) => (isObject(own) && own['subscribers']) ?? subscribers);
}

function shareMistakes({ classes }: Record<string, unknown>): Mistake[] {
  if (!isObject(classes)) return [];
  const shares = Object.values(classes).map((own) => (isObject(own) ? own['share'] : undefined));
  if (!shares.every((own) => typeof own === 'string' && new RegExp(SHARE_FORM).test(own))) return [];
  const sum = shares.reduce<number>((total, own) => total + shareOf(String(own)), 0);
  // Tolerates rounded shares, such as three of 33.33%, which do not add up to exactly 1.
  if (Math.abs(sum - 1) < 0.0005) return [];
  const percent = Number((100 * sum).toFixed(2));
  return [{ path: ['classes'], message: `the shares of the classes add up to ${percent}%, not to 100%` }];
}

function uplinkMistakes({ classes, uplink = 'agent' }: Record<string, unknown>): Mistake[] {
  if (!isObject(classes)) return [];
  const connected: readonly unknown[] = CONNECTED_UPLINKS;
  const wrong = (name: string, field: string, needs: string, is: unknown): Mistake => ({
    path: ['classes', name, field],
    message: `'${field}' needs the uplink ${needs}, and uplink is ${String(is)}`,
  });
  return Object.entries(classes).flatMap(([name, own]) => {
    if (!isObject(own)) return [];
    const { uplink: is = uplink, agent_version } = own;
    if (!connected.includes(uplink))
      return ['uplink', 'agent_version']
        .filter((field) => own[field] !== undefined)
        .map((field) => wrong(name, field, field === 'agent_version' ? 'agent' : 'agent or polling', uplink));
    return agent_version === undefined || is === 'agent' ? [] : [wrong(name, 'agent_version', 'agent', is)];
  });
}

function conditionMistakes(value: Record<string, unknown>, phases: readonly unknown[]): Mistake[] {
  const known = phases.map((phase) => ({ ...(isObject(phase) && phase), do: kindOf(phase) ?? '' }));
  const parts = { classes: classesIn(value), phases: known };
  const wrong = (expressions: unknown, path: Path): Mistake[] =>
    (Array.isArray(expressions) ? (expressions as unknown[]) : []).flatMap((expression, index) => {
      try {
        if (typeof expression === 'string') checkThreshold(expression, parts);
        return [];
      } catch (error) {
        return [{ path: [...path, index], message: (error as Error).message }];
      }
    });
  return [
    ...wrong(value['thresholds'], ['thresholds']),
    ...wrong(value['abort_on'], ['abort_on']),
    ...phases.flatMap((phase, index) => (isObject(phase) ? wrong(phase['gate'], ['phases', index, 'gate']) : [])),
  ];
}
