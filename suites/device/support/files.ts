/** Config files of a deployment, as they stand on the device's disk. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Device } from './context.ts';

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

/** The file's text, wherever below the root it lies; undefined when it is not there. Synchronous, so that nothing happens meanwhile. */
export function contentOf(root: string, file: ConfigFile): string | undefined {
  const direct = readOr(join(root, file.filepath));
  if (direct !== undefined) return direct;
  const name = basename(file.filepath);
  for (const entry of entriesBelow(root)) {
    if (entry.name === name && !entry.isDirectory()) return readOr(join(entry.parentPath, entry.name));
  }
  return undefined;
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
