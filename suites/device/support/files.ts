/** Config files of a deployment, as they stand on the device's disk. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, normalize, sep } from 'node:path';
import type { Device } from './context.ts';
import { sameJson } from './events.ts';

export interface ConfigFile {
  filepath: string;
  content: string;
}

let count = 0;

/** A file whose name nobody else uses, so that it can be found wherever the device puts it. */
export function configFile(context: Device, content: string): ConfigFile {
  count += 1;
  const name = `muster-${(context.seed >>> 0).toString(36)}-${Date.now().toString(36)}-${count}.json`;
  return { filepath: `/etc/muster/${name}`, content };
}

export function configRoot(context: Device): string {
  return (
    context.info.config_root ?? context.blocked('the capability "files" is declared, but control names no config_root')
  );
}

/** Every file below the root that may be this one. */
export interface Found {
  text: string;
  /** At the whole path that was asked for, below the root or below a directory in it; false: only the name is the same. */
  inPlace: boolean;
}

/** Synchronous, so that nothing happens meanwhile. The one at the very path comes first, those that have only the name last. */
export function foundOf(root: string, file: ConfigFile): Found[] {
  const name = basename(file.filepath);
  const whole = normalize(`${sep}${file.filepath}`);
  const paths = entriesBelow(root).flatMap((entry) =>
    entry.name === name && !entry.isDirectory() ? [join(entry.parentPath, entry.name)] : [],
  );
  const direct = join(root, file.filepath);
  return [...new Set([direct, ...paths])]
    .flatMap((path): Found[] => {
      const text = readOr(path);
      return text === undefined ? [] : [{ text, inPlace: path === direct || path.endsWith(whole) }];
    })
    .toSorted((left, right) => Number(right.inPlace) - Number(left.inPlace));
}

/** The file's text, wherever below the root it lies; undefined when it is not there. */
export const contentOf = (root: string, file: ConfigFile): string | undefined => foundOf(root, file)[0]?.text;

/** Whether both say the same, if not byte by byte: line ends differ, or JSON is laid out in another way. */
export function saysTheSame(left: string, right: string): boolean {
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
