/** The event log as a file: lines of JSON, read as they stand. */
import { appendFile, readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Device } from './context.ts';

export function logPath(context: Device): string {
  return context.info.event_log ?? context.blocked('the capability "log" is declared, but control names no event_log');
}

export interface LogLine {
  text: string;
  /** Undefined when the line is no JSON. */
  value: unknown;
  json: boolean;
}

/** Every line that is ended; and the last one also without its newline when it is JSON, since it may just be under way. */
export async function readLog(path: string): Promise<LogLine[]> {
  const texts = await Promise.all((await segments(path)).map((file) => readFile(file, 'utf8')));
  const lines = texts.join('').split('\n');
  const last = lines.pop() ?? '';
  const read = lines.map(parse);
  const tail = parse(last);
  return last !== '' && tail.json ? [...read, tail] : read;
}

function parse(text: string): LogLine {
  try {
    return { text, value: JSON.parse(text), json: true };
  } catch {
    return { text, value: undefined, json: false };
  }
}

/** Whether a line tells of that event. How it is stored beside being JSON is the agent's own affair, so any member may hold the id. */
export function tellsOf(line: LogLine, id: bigint): boolean {
  return line.json && line.text.includes(String(id)) && holds(line.value, id);
}

function holds(value: unknown, id: bigint): boolean {
  if (typeof value === 'number') return value === Number(id);
  if (typeof value === 'string') return value === String(id);
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some((item) => holds(item, id));
}

/** The files of the log, oldest first: one, or those in the directory that control names. */
async function segments(path: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const entries = await readdir(path, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile() && /\.jsonl$/.test(entry.name)).map(({ name }) => name);
  return names.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).map((name) => join(path, name));
}

/** The file that is being written to. */
const newest = async (path: string): Promise<string> => (await segments(path)).at(-1) ?? path;

export const appendTo = async (path: string, bytes: Buffer): Promise<void> => appendFile(await newest(path), bytes);

/** The last whole line, with its newline. */
export async function lastLine(path: string): Promise<Buffer> {
  const bytes = await readFile(await newest(path)).catch(() => Buffer.alloc(0));
  const end = bytes.lastIndexOf(10);
  return end === -1 ? Buffer.alloc(0) : bytes.subarray(bytes.lastIndexOf(10, end - 1) + 1, end + 1);
}

/** Bytes of everything in the log's directory, its own segments and leftovers included. */
export async function diskUse(path: string): Promise<number> {
  let total = 0;
  const directory = (await stat(path)).isDirectory() ? path : dirname(path);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (!entry.isFile()) continue;
    // A file may go away while it is counted: compaction renames.
    total += await stat(join(entry.parentPath, entry.name)).then(
      ({ size }) => size,
      () => 0,
    );
  }
  return total;
}
