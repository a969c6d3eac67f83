/** Positions in YAML files, and the fields that a schema accepts there. */
import type { Document, LineCounter } from 'yaml';

/** A YAML file that was read. */
export interface Parsed {
  file: string;
  document: Document.Parsed;
  lines: LineCounter;
}

/** `FILE:LINE:COLUMN` of what a JSON Pointer leads to, or of what should hold it; of several files the last one that has it. */
export function positionOf(pointer: string, files: readonly Parsed[]): string {
  for (let path = stepsOf(pointer); path.length > 0; path = path.slice(0, -1)) {
    for (const { file, document, lines } of files.toReversed()) {
      const at = keyAt(document, path);
      if (at === undefined) continue;
      const { line, col } = lines.linePos(at);
      return `${file}:${line}:${col}`;
    }
  }
  return files.at(-1)?.file ?? '';
}

/** Names that a schema accepts in the object that holds what the pointer leads to. */
export function knownBeside(pointer: string, schema: object): string[] {
  let at: unknown = schema;
  for (const step of stepsOf(pointer).slice(0, -1)) at = propertiesOf(at)[step];
  return Object.keys(propertiesOf(at));
}

const stepsOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));

/** The properties of an object's schema; of alternatives, those of the first object. */
function propertiesOf(schema: unknown): Record<string, unknown> {
  if (schema === null || typeof schema !== 'object') return {};
  if ('properties' in schema && schema.properties !== null && typeof schema.properties === 'object')
    return schema.properties as Record<string, unknown>;
  const options = 'anyOf' in schema && Array.isArray(schema.anyOf) ? schema.anyOf : [];
  return options.map(propertiesOf).find((properties) => Object.keys(properties).length > 0) ?? {};
}

/** Offset of the key itself, or of an item of a list. */
function keyAt(document: Document.Parsed, path: readonly string[]): number | undefined {
  const holder = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  const items = (holder as { items?: unknown } | null | undefined)?.items;
  if (!Array.isArray(items)) return undefined;
  const last = path.at(-1);
  for (const [index, item] of items.entries()) {
    const { key, range } = item as { key?: { value?: unknown; range?: number[] }; range?: number[] };
    if (key !== undefined ? String(key.value) === last : String(index) === last) return (key?.range ?? range)?.[0];
  }
  return undefined;
}
