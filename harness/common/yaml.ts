/** Parses YAML of possibly hostile authors: limits size and aliases, and rejects cycles. */
import { type Document, isScalar, LineCounter, parseDocument, visit } from 'yaml';
import { UsageError } from './usage.ts';
import { readUserText } from './user-files.ts';

/** The parser takes seconds for larger files. */
const LARGEST_BYTES = 1_048_576;
/** Counts anchors, too, because the parser searches all of them for each alias. */
const MOST_ALIASES = 1000;
const MOST_VALUES = 1_000_000;

const TOO_DEEP = 'it is nested too deeply';

export class YamlError extends Error {
  override name = 'YamlError';
  readonly mistakes: readonly YamlMistake[];

  constructor(mistakes: readonly YamlMistake[]) {
    super(mistakes[0]?.message ?? 'not YAML');
    this.mistakes = mistakes;
  }
}

export interface YamlMistake {
  message: string;
  at?: { line: number; col: number };
}

export interface Yaml {
  value: unknown;
  document: Document.Parsed;
  lines: LineCounter;
}

export function parseYaml(text: string): Yaml {
  if (Buffer.byteLength(text) > LARGEST_BYTES)
    throw new YamlError([{ message: `it has more than ${LARGEST_BYTES} bytes` }]);
  const lines = new LineCounter();
  try {
    // Turns off the parser's slow check for repeated keys, which `wrongIn` replaces.
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
    const errors = document.errors.map(({ message, pos: [from] }) => ({
      message: message.startsWith('Maximum call stack') ? TOO_DEEP : message,
      from,
    }));
    const mistakes = [...errors, ...wrongIn(document)];
    if (mistakes.length > 0)
      throw new YamlError(mistakes.map(({ message, from }) => ({ message, at: lines.linePos(from) })));
    const value: unknown = document.toJS({ maxAliasCount: -1 });
    requireFinite(value);
    return { value, document, lines };
  } catch (error) {
    if (error instanceof YamlError) throw error;
    if (error instanceof RangeError) throw new YamlError([{ message: TOO_DEEP }]);
    // The parser throws plain errors, e.g. for an alias without an anchor.
    throw new YamlError([{ message: error instanceof Error ? error.message : String(error) }]);
  }
}

/** Throws UsageError with the option, the file as `shown`, and the position. */
export function readYaml(option: string, path: string, shown = path): Yaml & { text: string } {
  const text = readUserText(`${option} ${shown}`, path);
  try {
    return { text, ...parseYaml(text) };
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    const at = error.mistakes[0]?.at;
    throw new UsageError(`${option} ${shown}${at === undefined ? '' : `:${at.line}:${at.col}`}: ${error.message}`);
  }
}

function wrongIn(document: Document.Parsed): { message: string; from: number }[] {
  let aliases = 0;
  const mistakes: { message: string; from: number }[] = [];
  visit(document, {
    Alias: () => {
      aliases += 1;
    },
    Value: (_, { anchor }) => {
      if (anchor !== undefined) aliases += 1;
    },
    Map: (_, { items }) => {
      const keys = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (keys.has(key.value))
          mistakes.push({ message: `the key '${String(key.value)}' stands twice`, from: key.range?.[0] ?? 0 });
        keys.add(key.value);
      }
    },
  });
  if (aliases > MOST_ALIASES)
    mistakes.push({ message: `it has more than ${MOST_ALIASES} anchors and aliases`, from: 0 });
  return mistakes;
}

function requireFinite(value: unknown): void {
  const sizes = new Map<object, number>();
  const open = new Set<object>();
  const sizeOf = (part: unknown): number => {
    if (part === null || typeof part !== 'object') return 1;
    if (open.has(part)) throw new YamlError([{ message: 'an alias stands within what it names' }]);
    const known = sizes.get(part);
    if (known !== undefined) return known;
    open.add(part);
    let size = 1;
    for (const item of Object.values(part)) size += sizeOf(item);
    open.delete(part);
    if (size > MOST_VALUES)
      throw new YamlError([{ message: `its aliases make more than ${MOST_VALUES} values of it` }]);
    sizes.set(part, size);
    return size;
  };
  sizeOf(value);
}
