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
  const lines = (await readFile(path, 'utf8')).split('\n');
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

export const appendTo = (path: string, bytes: Buffer): Promise<void> => appendFile(path, bytes);

/** The last whole line, with its newline. */
export async function lastLine(path: string): Promise<Buffer> {
  const bytes = await readFile(path).catch(() => Buffer.alloc(0));
  const end = bytes.lastIndexOf(10);
  return end === -1 ? Buffer.alloc(0) : bytes.subarray(bytes.lastIndexOf(10, end - 1) + 1, end + 1);
}

/** Bytes of everything in the log's directory, its own segments and leftovers included. */
export async function diskUse(path: string): Promise<number> {
  let total = 0;
  for (const entry of await readdir(dirname(path), { withFileTypes: true })) {
    if (!entry.isFile()) continue;
    // A file may go away while it is counted: compaction renames.
    total += await stat(join(entry.parentPath, entry.name)).then(
      ({ size }) => size,
      () => 0,
    );
  }
  return total;
}
