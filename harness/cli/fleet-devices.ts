/** Devices of the user from a file: plain lines, CSV with a header, or JSON lines. Messages never contain a secret. */
import { createPrivateKey } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { CsvError, parse } from 'csv-parse/sync';
import type { OwnDevice } from '../../simulators/fleet/platform/survey.ts';
import { UsageError } from '../common/usage.ts';
import { readInputText, whyNot } from '../common/user-files.ts';

const COLUMNS = ['id', 'token', 'key'] as const;
type Column = (typeof COLUMNS)[number];
interface Row extends Partial<Record<Column, string>> {
  line: number;
}

const WAYS = `one a line, CSV whose first line names columns (${COLUMNS.join(', ')}), or JSON lines with these fields`;
const WORDS = { id: 'an id', token: 'a token', key: 'a key' } as const;

interface Source {
  option: string;
  file: string;
  plain: 'id' | 'token';
}

export function idsFrom(file: string): string[] {
  const source: Source = { option: '--devices', file, plain: 'id' };
  return rowsFrom(source).map(({ id, line }) => id ?? wrong(source, line, 'has no id', WAYS));
}

export function tokensFrom(file: string, robots: number): OwnDevice[] {
  const source: Source = { option: '--tokens', file, plain: 'token' };
  const keys = new Map<string, number>();
  const devices = rowsFrom(source).map(({ line, token, key }): OwnDevice => {
    if (key === undefined)
      return token === undefined ? wrong(source, line, 'has no token and no key', WAYS) : { line, token };
    const pem = keyFrom(source, line, key);
    const other = keys.get(pem);
    if (other !== undefined) wrong(source, line, `has the key of line ${other}`, 'a key of its own for each');
    keys.set(pem, line);
    return { line, key: pem, ...(token !== undefined && { token }) };
  });
  if (devices.length >= robots) return devices;
  throw new UsageError(
    `--tokens: ${file} has ${devices.length}, and there are ${robots} robots; accepted: one for each`,
  );
}

function keyFrom(source: Source, line: number, given: string): string {
  const accepted = 'an RSA private key as PEM, or the path of its file, from the folder of this file';
  let pem: string;
  try {
    pem = given.includes('-----BEGIN')
      ? given.replaceAll('\\n', '\n')
      : readInputText(resolve(dirname(source.file), given));
  } catch (error) {
    return wrong(source, line, `has a key that cannot be read (${whyNot(error)})`, accepted);
  }
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'rsa') return key.export({ type: 'pkcs8', format: 'pem' }).toString();
  } catch {}
  return wrong(source, line, 'has a key that is no RSA private key', accepted);
}

function wrong({ option, file }: Source, line: number, what: string, accepted: string): never {
  throw new UsageError(`${option}: ${file}:${line}: ${what}; accepted: ${accepted}`);
}

function rowsFrom(source: Source): Row[] {
  const { option, file, plain } = source;
  let text: string;
  try {
    text = readInputText(file).replace(/^\uFEFF/, '');
  } catch (error) {
    throw new UsageError(
      `${option}: cannot read ${file} (${whyNot(error)}); accepted: a file with ${WORDS[plain]} on each line`,
    );
  }
  const found = readerOf(text)(source, text);
  if (found.length === 0)
    throw new UsageError(`${option}: ${file} has no line with ${WORDS[plain]}; accepted: ${WAYS}`);
  return found;
}

const isRemark = (line: string): boolean => /^\s*(#|$)/.test(line);
const columnIn = (name: string): Column | undefined => COLUMNS.find((known) => known === name.trim().toLowerCase());

function readerOf(text: string): (source: Source, text: string) => Row[] {
  const first = text.split('\n').find((line) => !isRemark(line)) ?? '';
  if (first.trimStart().startsWith('{')) return jsonRows;
  const names = first.split(',').map((name) => name.replaceAll('"', ''));
  return names.length > 1 || names.some((name) => columnIn(name) !== undefined) ? csvRows : plainRows;
}

const plainRows = (source: Source, text: string): Row[] =>
  text.split('\n').flatMap((whole, at) => {
    const word = whole.replace(/(^|\s)#.*/, '').trim();
    if (/\s/.test(word)) wrong(source, at + 1, `is not ${WORDS[source.plain]} alone`, WAYS);
    return word === '' ? [] : [{ line: at + 1, [source.plain]: word }];
  });

const jsonRows = (source: Source, text: string): Row[] =>
  text.split('\n').flatMap((whole, at) => {
    if (isRemark(whole)) return [];
    let value: unknown;
    try {
      value = JSON.parse(whole);
    } catch {}
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return wrong(source, at + 1, 'is no JSON object', WAYS);
    return [rowOf(source, at + 1, Object.entries(value as Record<string, unknown>))];
  });

function csvRows(source: Source, text: string): Row[] {
  const [header, ...records] = recordsIn(source, text);
  if (header === undefined) return [];
  // Message without the line: without a header, the first line holds secrets.
  if (!header.cells.some((name) => columnIn(name) !== undefined))
    wrong(source, header.line, 'has several fields, and no known column', WAYS);
  return records.map(({ line, cells }) => {
    const counts = `has ${cells.length} fields, and the header line ${header.cells.length}`;
    if (cells.length !== header.cells.length) wrong(source, line, counts, 'as many, in quotes where one has a comma');
    const fields = header.cells.map((name, at): [string, string] => [name, cells[at] ?? '']);
    return rowOf(source, line, fields, header.line);
  });
}

/** Ignores empty fields. `named`: line of the column names. */
function rowOf(source: Source, line: number, fields: readonly [string, unknown][], named = line): Row {
  const row: Row = { line };
  for (const [name, value] of fields) {
    const column = columnIn(name);
    if (column === undefined) return wrong(source, named, `unknown column '${name.trim()}'`, COLUMNS.join(', '));
    if (typeof value !== 'string') return wrong(source, line, `'${column}' is no string`, WORDS[column]);
    if (value.trim() === '') continue;
    if (row[column] !== undefined) wrong(source, named, `has '${column}' twice`, 'each column once');
    if (column !== 'key' && /\s/.test(value.trim())) wrong(source, line, `'${column}' has blanks`, WORDS[column]);
    row[column] = value.trim();
  }
  return row;
}

/** Records by RFC 4180; skips empty lines, and comments that begin with `#`. */
function recordsIn(source: Source, text: string): { line: number; cells: string[] }[] {
  try {
    const records = parse(text, {
      ...{ comment: '#', comment_no_infix: true, skip_empty_lines: true, trim: true },
      ...{ relax_column_count: true, info: true },
    }) as unknown as { record: string[]; info: { lines: number } }[];
    // First line of the record: the parser counts up to its last.
    return records.map(({ record, info }) => ({
      line: info.lines - record.join('').split('\n').length + 1,
      cells: record,
    }));
  } catch (error) {
    // The parser's message would show part of a secret.
    if (!(error instanceof CsvError)) throw error;
    return wrong(source, Number(error['lines']), 'has a quote that does not fit', 'quotes around a whole field');
  }
}
