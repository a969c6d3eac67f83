/** What a device keeps on its disk: the event log, and the config files of its deployments. */
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { appendFile, readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, normalize, sep } from 'node:path';
import type { Device } from './check.ts';
import { sameJson } from './events.ts';

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

/** A config file of a deployment, and its path on the device. */
export interface ConfigFile {
  filepath: string;
  content: string;
}

/** A file with a unique name, so that it can be found wherever the device puts it. */
export const configFile = (content: string): ConfigFile => ({
  filepath: `/etc/muster/muster-${randomUUID()}.json`,
  content,
});

export function configRoot(t: Device): string {
  return t.info.config_root ?? t.blocked('the capability "files" is declared, but control names no config_root');
}

export interface FoundFile {
  text: string;
  /** At the whole path, below the root or below a directory in it. False when only the name is the same. */
  inPlace: boolean;
}

/**
 * Every file below the root that may be this one: first the one at the very path, last those that share only its name. Synchronous,
 * so that nothing happens meanwhile.
 */
export function findConfigFile(root: string, file: ConfigFile): FoundFile[] {
  const name = basename(file.filepath);
  const whole = normalize(`${sep}${file.filepath}`);
  const paths = entriesBelow(root).flatMap((entry) =>
    entry.name === name && !entry.isDirectory() ? [join(entry.parentPath, entry.name)] : [],
  );
  const direct = join(root, file.filepath);
  return [...new Set([direct, ...paths])]
    .flatMap((path): FoundFile[] => {
      const text = readOr(path);
      return text === undefined ? [] : [{ text, inPlace: path === direct || path.endsWith(whole) }];
    })
    .toSorted((left, right) => Number(right.inPlace) - Number(left.inPlace));
}

/** Whether two texts mean the same: line ends may differ, and JSON may be formatted in another way. */
export function sameText(left: string, right: string): boolean {
  const unlined = (text: string): string => text.replaceAll(/\r\n?/g, '\n').replace(/\n+$/, '');
  if (unlined(left) === unlined(right)) return true;
  try {
    return sameJson(JSON.parse(left), JSON.parse(right));
  } catch {
    return false;
  }
}

function readOr(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function entriesBelow(root: string) {
  try {
    return readdirSync(root, { recursive: true, withFileTypes: true });
  } catch {
    return [];
  }
}
