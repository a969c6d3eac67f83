/** The baseline as a file: YAML or JSON. Its shape is published as `fixtures/schemas/baseline.schema.json`. */
import { existsSync } from 'node:fs';
import Type from 'typebox';
import { LineCounter, parseDocument, stringify } from 'yaml';
import { UsageError } from '../common/exit-codes.ts';
import { readInputText, whyNot, writeWhole } from '../common/user-files.ts';
import { shape } from '../contract/shape.ts';
import type { Baseline } from './baseline.ts';

/** Shape of the file. */
export const baselineFile = shape(
  'baseline',
  Type.Object(
    {
      $schema: Type.Optional(Type.String()),
      known: Type.Array(
        Type.Object(
          {
            check: Type.String({ minLength: 1, description: 'Id of a check (`muster list`)' }),
            reason: Type.String({ minLength: 1, description: 'Why it fails, for the readers of reports' }),
            expires: Type.String({
              pattern: '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$',
              description: 'Last day on which it is excused (YYYY-MM-DD)',
            }),
          },
          { additionalProperties: false },
        ),
      ),
    },
    {
      additionalProperties: false,
      title: 'Muster baseline',
      description: 'Checks that are known to fail, with a reason and for a time',
    },
  ),
);

/** Reads a baseline. Throws UsageError with the line. A missing file is an empty baseline only when it is about to be written. */
export function readBaseline(path: string, options: { mayBeMissing?: boolean } = {}): Baseline {
  if (!existsSync(path)) {
    if (options.mayBeMissing === true) return { known: [] };
    throw new UsageError(`--baseline ${path}: no such file; --update-baseline writes it`);
  }
  const lines = new LineCounter();
  // Days stay text: `core` reads an unquoted date as a string.
  const document = parseDocument(textOf(path), { lineCounter: lines, schema: 'core' });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0]);
    throw new UsageError(
      `--baseline ${path}:${line}:${col}: ${error.message.split(/ at line \d+|\n/)[0] ?? 'not YAML'}`,
    );
  }
  const content: unknown = document.toJS();
  if (!baselineFile.is(content)) {
    const [problem] = baselineFile.problems(content);
    throw new UsageError(
      `--baseline ${path}: ${problem?.path || '/'} ${problem?.message ?? ''}; an entry is {check, reason, expires: YYYY-MM-DD}`,
    );
  }
  const twice = content.known.find((entry, index) => content.known.findIndex((at) => at.check === entry.check) < index);
  if (twice !== undefined) throw new UsageError(`--baseline ${path}: ${twice.check} is listed twice`);
  return { known: content.known };
}

function textOf(path: string): string {
  try {
    return readInputText(path);
  } catch (error) {
    throw new UsageError(`--baseline ${path}: cannot be read (${whyNot(error)})`);
  }
}

const HEADING = `# Checks that are known to fail. Each is excused until the day it expires; an entry whose check passes is an error.
# Written by: muster check … --baseline THIS --update-baseline
`;

/** Writes a baseline, whole or not at all. A path that ends in .json gets JSON. */
export function writeBaseline(path: string, baseline: Baseline): void {
  const content = { known: baseline.known };
  const text = path.endsWith('.json')
    ? `${JSON.stringify(content, null, 2)}\n`
    : HEADING + stringify(content, { lineWidth: 120 });
  writeWhole(path, text);
}
