/** Reads a scenario file; reports every mistake with its line, its column and what is accepted there. */
import { type Document, isNode, LineCounter, parseDocument } from 'yaml';
import type { Problem, Shape } from '../../../harness/contract/shape.ts';
import { checkThreshold } from '../result/thresholds.ts';
import { ACCEPTED, PHASES, type PhaseKind, phaseShapes, type Scenario, scenarioHead } from './scenario.ts';

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
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  if (document.errors.length > 0) {
    throw new ScenarioError(document.errors.map((error) => `${at(error.pos[0])}: ${error.message}`).join('\n'));
  }
  const value: unknown = document.toJS();
  const mistakes = mistakesIn(value);
  if (mistakes.length === 0) return value as Scenario;
  const inOrder = mistakes
    .map(({ path, message }) => ({ offset: offsetOf(path, document), message }))
    .toSorted((a, b) => a.offset - b.offset);
  throw new ScenarioError(inOrder.map(({ offset, message }) => `${at(offset)}: ${message}`).join('\n'));
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
  return [...mistakes, ...contradictions(value, phases), ...thresholdMistakes(value['thresholds'])];
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
    if (uplink === 'none' && needsPlatform(kind, phase)) {
      add(index, `this '${kind}' phase needs an uplink, but uplink is none`);
    }
    if (kind === 'rollout' && subscribers === 0) {
      add(index, "a 'rollout' is measured by a subscriber on the robot: subscribers must be 1 or more");
    }
  }
  return mistakes;
}

function thresholdMistakes(expressions: unknown): Mistake[] {
  if (!Array.isArray(expressions)) return [];
  return (expressions as unknown[]).flatMap((expression, index): Mistake[] => {
    if (typeof expression !== 'string') return [];
    try {
      checkThreshold(expression);
      return [];
    } catch (error) {
      return [{ path: ['thresholds', index], message: (error as Error).message }];
    }
  });
}

const needsPlatform = (kind: PhaseKind, { ping, lists }: Record<string, unknown>): boolean =>
  kind === 'rollout' || kind === 'partition' || ping !== undefined || lists !== undefined;

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
