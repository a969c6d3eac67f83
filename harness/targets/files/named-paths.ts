/** The paths that control names in a container, and what they are of use for. */
import { dirname } from 'node:path';
import type { ControlInfo } from '../../contract/control.ts';
import { FilesUnreadable, type TargetFiles } from './target-files.ts';

const NAMED = [
  ['log', 'event_log'],
  ['files', 'config_root'],
] as const;

/**
 * What control says, without the capabilities whose path leads nowhere in the container. The log or the folder itself may not be
 * there before the first deployment, but the folder around it is.
 */
export async function withReadablePaths(
  info: ControlInfo,
  files: TargetFiles,
  notify: (text: string) => void,
): Promise<ControlInfo> {
  const dropped: string[] = [];
  for (const [capability, field] of NAMED) {
    const path = info[field];
    if (path === undefined) continue;
    const why = await whyUnreadable(path, files);
    if (why === undefined) continue;
    dropped.push(capability, field);
    notify(`control names ${path} as ${field}, and ${why}: going on without the capability "${capability}"`);
  }
  const kept = Object.entries(info).filter(([name]) => !dropped.includes(name));
  const capabilities = info.capabilities.filter((name) => !dropped.includes(name));
  return { ...Object.fromEntries(kept), capabilities };
}

async function whyUnreadable(path: string, files: TargetFiles): Promise<string | undefined> {
  if (!path.startsWith('/')) return 'that is no absolute path';
  try {
    const there = (await files.stat(path)) ?? (await files.stat(dirname(path)));
    return there === undefined ? 'the container has no such place' : undefined;
  } catch (error) {
    if (!(error instanceof FilesUnreadable)) throw error;
    return error.message;
  }
}
