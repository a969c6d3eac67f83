import { constants } from 'node:buffer';
import { basename, dirname, join, normalize, parse, sep } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { jsonOf } from '../../../harness/common/lenient.ts';
import { uniqueName } from '../../../harness/common/names.ts';
import { literal } from '../../../harness/common/redact.ts';
import { pollWithin } from '../../../harness/common/waiting.ts';
import { FilesUnreadable } from '../../../harness/targets/files/target-files.ts';
import { type Device, recordTimeout, timeoutMs } from './check.ts';

function logPath(t: Device): string {
  return t.info.event_log ?? t.blocked('the capability "log" is declared, but control names no event_log');
}

export interface LogLine {
  readonly text: string;
  readonly json: boolean;
  readonly value: unknown;
}

export interface Log {
  lines: LogLine[];
  bytes: number;
  isCut: boolean;
}

/** Bytes to read at each end of a log; a million events may not fit into memory. */
const END_BYTES = 16 * 1024 * 1024;

/** Accepts a last line of JSON without its newline, which the agent may be about to write. */
export async function readLog(t: Device, endBytes = END_BYTES): Promise<Log> {
  const files = await segments(t);
  const sizes: number[] = [];
  for (const file of files) sizes.push((await t.files.stat(file))?.size ?? 0);
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  const isCut = bytes > 2 * endBytes;
  if (!isCut && bytes > constants.MAX_STRING_LENGTH) t.blocked(`the event log of ${bytes} bytes is too long to read`);
  const texts: string[] = [];
  let before = 0;
  for (const [at, file] of files.entries()) {
    const size = sizes[at] ?? 0;
    const head = Math.max(0, endBytes - before);
    before += size;
    const tail = Math.max(0, endBytes - (bytes - before));
    if (head + tail >= size) texts.push((await t.files.read(file))?.toString('utf8') ?? '');
    else if (head + tail > 0) {
      const first = (await t.files.readPart(file, 0, head))?.toString('utf8') ?? '';
      const last = (await t.files.readPart(file, size - tail, tail))?.toString('utf8') ?? '';
      texts.push(first.slice(0, first.lastIndexOf('\n') + 1), last.slice(last.indexOf('\n') + 1 || last.length));
    }
  }
  const parts = texts.filter((text) => text !== '');
  // Joins parts by one line end, because an agent may write a line end before a line, and not after it.
  const inner = parts.map((text) => text.replaceAll(/^\n|\n$/g, ''));
  const lines = inner.join('\n').split('\n').map(lineOf);
  if (parts.at(-1)?.endsWith('\n') !== true && lines.at(-1)?.json === false) lines.pop();
  return { lines, bytes, isCut };
}

/** Parses the text at the first use, because most lines of a long log are never looked at. */
function lineOf(text: string): LogLine {
  let read: { value: unknown } | undefined;
  return {
    text,
    get json() {
      return this.value !== undefined;
    },
    get value() {
      read ??= { value: jsonOf(text) };
      return read.value;
    },
  };
}

export function linesOf(lines: readonly LogLine[], ids: readonly bigint[]): ReadonlyMap<bigint, readonly number[]> {
  const found = new Map(ids.map((id): [bigint, number[]] => [id, []]));
  const wanted = new Map(ids.map((id) => [String(id), id]));
  for (const [at, line] of lines.entries()) {
    // Searches the text before the JSON, because most lines hold none of the ids.
    for (const text of new Set(line.text.match(/-?\d+/g) ?? [])) {
      const id = wanted.get(text);
      if (id !== undefined && storesEvent(line, id)) found.get(id)?.push(at);
    }
  }
  return found;
}

/** Searches all members, because the specification does not define log lines. */
export function storesEvent(line: LogLine, id: bigint): boolean {
  if (!line.json || !line.text.includes(String(id))) return false;
  // Avoids recursion, because a log line may be nested to any depth.
  const left = [line.value];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value === 'number' ? value === Number(id) : value === String(id)) return true;
    if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) left.push(item);
  }
  return false;
}

/** Looks for a path that control names, and records the result; undefined if absent, e.g. on another machine. */
async function declaredPlace(t: Device, name: 'event_log' | 'config_root', path: string) {
  const there = await t.files.stat(path);
  const seen = { name, declared: path, observed: there?.kind ?? 'nothing is there' };
  t.session.declarations.saw({ ...seen, holds: there !== undefined });
  return there;
}

const nothingThere = (t: Device, name: 'event_log' | 'config_root', path: string): never =>
  t.blocked(`control names ${path} as its ${name}, and nothing is there`);

/** Number or time in the name of a rotated part, before or after its extension. */
const PART_NUMBER = '[._-]\\d[\\d.:+TZ_-]*';

/** Files of the log, oldest first: `events.jsonl.1` is newer than `.2`, but older than `events.jsonl`. */
async function segments(t: Device): Promise<string[]> {
  const path = logPath(t);
  const there = (await declaredPlace(t, 'event_log', path)) ?? nothingThere(t, 'event_log', path);
  const isFolder = there.kind === 'folder';
  const { base, name: stem, ext } = parse(path);
  const whole = isFolder ? String.raw`\.jsonl` : `^${literal(stem)}(?:${PART_NUMBER})?${literal(ext)}`;
  const isPart = (name: string): boolean =>
    new RegExp(`${whole}(?:${PART_NUMBER})?$`).test(name) && (isFolder || name !== base);
  const entries = await t.files.list(isFolder ? path : dirname(path)).catch((error: unknown) => {
    // The folder around a log may be closed to this user.
    if (isFolder || !(error instanceof FilesUnreadable)) throw error;
    return [];
  });
  const parts = entries.flatMap((one) => (one.kind === 'file' && isPart(basename(one.path)) ? [one.path] : []));
  const unnumbered = (file: string): string => file.replace(new RegExp(`${PART_NUMBER}(?=\\.[^./]*$|$)`), '');
  const age = (file: string): number =>
    unnumbered(file) === file ? -1 : Number(/(?<!\d)\.(\d{1,6})$/.exec(file)?.[1] ?? 0);
  const { compare } = new Intl.Collator('en', { numeric: true });
  parts.sort((a, b) => compare(unnumbered(a), unnumbered(b)) || age(b) - age(a) || compare(a, b));
  return isFolder ? parts : [...parts, path];
}

const newest = async (t: Device): Promise<string> => (await segments(t)).at(-1) ?? logPath(t);

const LINE_END = 10;

/** Adds a line end that the last line lacks, because an agent may write it only with its next line. */
export async function appendTo(t: Device, bytes: Buffer): Promise<void> {
  const end = (await lastLine(t)).at(-1) ?? LINE_END;
  await t.files.append(await newest(t), end === LINE_END ? bytes : Buffer.from([LINE_END, ...bytes]));
}

/** Last whole line, with its line end if it has one. */
export async function lastLine(t: Device): Promise<Buffer> {
  const file = await newest(t);
  const { size } = (await t.files.stat(file)) ?? { size: 0 };
  const bytes = (await t.files.readPart(file, Math.max(0, size - END_BYTES), END_BYTES)) ?? Buffer.alloc(0);
  const end = bytes.lastIndexOf(LINE_END);
  const rest = bytes.subarray(end + 1);
  if (jsonOf(rest) !== undefined) return rest;
  return end === -1 ? Buffer.alloc(0) : bytes.subarray(bytes.lastIndexOf(LINE_END, end - 1) + 1, end + 1);
}

export async function diskUse(t: Device): Promise<number> {
  const path = logPath(t);
  const isFolder = (await t.files.stat(path))?.kind === 'folder';
  const entries = await t.files.list(isFolder ? path : dirname(path));
  // Rotated parts begin with the name of the log; other files in its folder may grow.
  const stem = basename(path).split('.')[0] ?? '';
  const isOfLog = (file: string): boolean => isFolder || basename(file).startsWith(stem);
  return entries.reduce((sum, { kind, path: file, size }) => sum + (kind === 'file' && isOfLog(file) ? size : 0), 0);
}

export interface ConfigFile {
  filepath: string;
  content: string;
}

/** Has a unique name, because a device may put the file anywhere. */
export const configFile = (content: string): ConfigFile => ({
  filepath: `/etc/robot/${uniqueName('config')}.json`,
  content,
});

export function configRoot(t: Device): string {
  return t.info.config_root ?? t.blocked('the capability "files" is declared, but control names no config_root');
}

/** True if control's paths are of this machine; tries the log too, because a device may remove its config root. */
async function isHere(t: Device): Promise<boolean> {
  const { event_log: log } = t.info;
  const isLogHere = log !== undefined && (await t.files.stat(log)) !== undefined;
  return isLogHere || (await declaredPlace(t, 'config_root', configRoot(t))) !== undefined;
}

export async function requireConfigRoot(t: Device): Promise<void> {
  if (!(await isHere(t))) nothingThere(t, 'config_root', configRoot(t));
}

interface FoundFile {
  text: string;
  inPlace: boolean;
}

export async function findConfigFile(t: Device, root: string, file: ConfigFile): Promise<FoundFile[]> {
  const name = basename(file.filepath);
  const whole = normalize(`${sep}${file.filepath}`);
  const direct = join(root, file.filepath);
  const found: FoundFile[] = [];
  const take = async (path: string): Promise<void> => {
    const text = (await t.files.read(path))?.toString('utf8');
    if (text !== undefined) found.push({ text, inPlace: path === direct || path.endsWith(whole) });
  };
  await take(direct);
  // Lists the folders only if needed, because this user may not be allowed to read all of them.
  if (found[0]?.text === file.content || normalize(root) === sep) return found;
  for (const { kind, path } of await t.files.list(root, { deep: true }))
    if (kind === 'file' && basename(path) === name && path !== direct) await take(path);
  return found.toSorted((left, right) => Number(right.inPlace) - Number(left.inPlace));
}

export async function fileThatStays(
  t: Device,
  files: readonly ConfigFile[],
  stays = (_file: ConfigFile, found: readonly FoundFile[]): boolean => found.length > 0,
): Promise<ConfigFile | undefined> {
  if (files.length === 0) return undefined;
  const root = configRoot(t);
  let left: ConfigFile | undefined;
  const areGone = async (): Promise<true | undefined> => {
    left = undefined;
    for (const file of files) if (stays(file, await findConfigFile(t, root, file))) left ??= file;
    return left === undefined ? true : undefined;
  };
  const times = { timeoutMs: timeoutMs(t, 'files'), firstPauseMs: 5, growth: 2, longestPauseMs: 100 };
  const found = await pollWithin('the files to go', areGone, { ...times, signal: t.signal });
  if (found !== true) recordTimeout(t, 'files');
  return left;
}

function sameText(left: string, right: string): boolean {
  const unlined = (text: string): string => text.replaceAll(/\r\n?/g, '\n').replace(/\n+$/, '');
  const value = jsonOf(left);
  return unlined(left) === unlined(right) || (value !== undefined && isDeepStrictEqual(value, jsonOf(right)));
}

export interface FileDifferences {
  /** Files that are missing or differ in content. */
  lost: string[];
  /** Files of the right content in another layout or place. */
  altered: string[];
}

export async function compareFiles(t: Device, root: string, files: readonly ConfigFile[]): Promise<FileDifferences> {
  const lost: string[] = [];
  const altered: string[] = [];
  for (const file of files) {
    const { filepath, content } = file;
    const found = await findConfigFile(t, root, file);
    const same = found.find(({ text }) => text === content) ?? found.find(({ text }) => sameText(text, content));
    if (found[0] === undefined) lost.push(`${filepath} is not there`);
    else if (same === undefined)
      lost.push(
        `${filepath} holds ${found[0].text.length} of ${content.length} characters: ` +
          `${JSON.stringify(found[0].text.slice(0, 80))}`,
      );
    else if (!same.inPlace) altered.push(`a file of that name lies elsewhere, and not at ${filepath}`);
    else if (same.text !== content) altered.push(`${filepath} has other line ends, or another layout`);
  }
  return { lost, altered };
}

/** Compares files with the config root; undefined if files are missing and the root may be on another machine. */
export async function differencesBelowRoot(
  t: Device,
  files: readonly ConfigFile[],
): Promise<FileDifferences | undefined> {
  const found = await compareFiles(t, configRoot(t), files);
  return found.lost.length === 0 || (await isHere(t)) ? found : undefined;
}
