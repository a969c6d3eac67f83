/** Reads a scenario file; every mistake is told with its line, its column and what is accepted there. */
import { isNode, LineCounter, parseDocument } from 'yaml';
import type { Shape } from '../../../harness/contract/shape.ts';
import { checkThreshold } from '../result/thresholds.ts';
import { PHASES, type PhaseKind, phaseShapes, type Scenario, scenarioHead } from './scenario.ts';

/** The file can't be used; the message has one line a mistake, `file:line:column: …`. */
export class ScenarioError extends Error {
  override name = 'ScenarioError';
}

type Path = (string | number)[];
interface Mistake {
  path: Path;
  message: string;
}

/** Parses the text of a scenario. `file` only names it in messages. Throws ScenarioError. */
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
  if (mistakes.length > 0) {
    const offsetOf = (path: Path): number => {
      for (let length = path.length; length > 0; length -= 1) {
        const node: unknown = document.getIn(path.slice(0, length), true);
        if (isNode(node) && node.range) return node.range[0];
      }
      return document.contents?.range?.[0] ?? 0;
    };
    const inOrder = mistakes
      .map(({ path, message }) => ({ offset: offsetOf(path), message }))
      .toSorted((a, b) => a.offset - b.offset);
    throw new ScenarioError(inOrder.map(({ offset, message }) => `${at(offset)}: ${message}`).join('\n'));
  }
  return value as Scenario;
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

/** What no schema can say: phases and fields that exclude each other. Phases of no known kind contradict nothing. */
function contradictions({ uplink, subscribers }: Record<string, unknown>, phases: readonly unknown[]): Mistake[] {
  const mistakes: Mistake[] = [];
  const say = (index: number, message: string) => mistakes.push({ path: ['phases', index], message });
  for (const [index, phase] of phases.entries()) {
    const kind = kindOf(phase);
    if (!isMap(phase) || kind === undefined) continue;
    if ((kind === 'ramp') !== (index === 0)) {
      say(
        index,
        index === 0 ? "the first phase must be 'ramp': it starts the robots" : "only the first phase is 'ramp'",
      );
    }
    if (kind === 'stop' && index !== phases.length - 1) say(index, "'stop' must be the last phase");
    if (uplink === 'none' && needsPlatform(kind, phase)) {
      say(index, `'${kind}' as written needs an uplink, and uplink is none`);
    }
    if (kind === 'rollout' && subscribers === 0) {
      say(index, "'rollout' is measured at a subscriber on the robot: subscribers must be 1 or more");
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
    // Told with what is accepted, where the phases are looked at one by one.
    .filter((problem) => !(/^\/phases\/\d+$/.test(problem.path) && problem.message.startsWith('lacks')))
    .filter((problem) => !unknown.some(({ path }) => pointer(path.slice(base.length)) === problem.path))
    .map((problem) => {
      const local = problem.path.split('/').slice(1).map(step);
      const about = properties[String(local[0] ?? '')]?.description;
      const found = local.reduce<unknown>((from, key) => (from as Record<string, unknown>)?.[key], value);
      const subject = local.length === 0 ? '' : `'${local.join('.')}' is ${JSON.stringify(found)}: `;
      if (about === undefined || local.length === 0) {
        return { path: [...base, ...local], message: `${subject}${problem.message}` };
      }
      // What a field is for says what its pattern means; the pattern itself nobody wants to read.
      const form = problem.message.startsWith('must match pattern');
      const message = form ? `${subject}accepted is ${about}` : `${subject}${problem.message} (${about})`;
      return { path: [...base, ...local], message };
    });
  return [...unknown, ...wrong];
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const pointer = (path: Path): string => path.map((part) => `/${part}`).join('');
const step = (part: string): string | number => (/^\d+$/.test(part) ? Number(part) : part);
const propertiesOf = (shape: Shape): Record<string, { description?: string }> =>
  (shape.schema as unknown as { properties: Record<string, { description?: string }> }).properties;
const fieldsOf = (shape: Shape): string => Object.keys(propertiesOf(shape)).join(', ');
