/** The event log as files on the device's disk. */
import { appendFile, readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Device } from './device.ts';

export function logPath(t: Device): string {
  return t.info.event_log ?? t.blocked('the capability "log" is declared, but control names no event_log');
}

export interface LogLine {
  text: string;
  json: boolean;
  /** Undefined when the line is not JSON. */
  value: unknown;
}

/** Every complete line. The last one also counts without its newline when it is JSON: the agent may be about to write that. */
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

/** Whether a line stores that event. How an agent lays a line out is not stated, so any member may hold the id. */
export function storesEvent(line: LogLine, id: bigint): boolean {
  return line.json && line.text.includes(String(id)) && containsId(line.value, id);
}

function containsId(value: unknown, id: bigint): boolean {
  if (typeof value === 'number') return value === Number(id);
  if (typeof value === 'string') return value === String(id);
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some((item) => containsId(item, id));
}

/** The files of the log, oldest first: one, or the `.jsonl` files of the directory that control names. */
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

/** Bytes of all files in the log's directory, leftovers of a compaction included. */
export async function diskUse(path: string): Promise<number> {
  let total = 0;
  const directory = (await stat(path)).isDirectory() ? path : dirname(path);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (!entry.isFile()) continue;
    // Compaction renames files, so one may be gone by now.
    total += await stat(join(entry.parentPath, entry.name)).then(
      ({ size }) => size,
      () => 0,
    );
  }
  return total;
}
