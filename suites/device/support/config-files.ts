/** Config files of a deployment, as they lie on the device's disk. */
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, normalize, sep } from 'node:path';
import type { Device } from './device.ts';
import { sameJson } from './events.ts';

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
