/** `{socket}`, `{discovery}`, `{control}` and `{dir}` in a command: paths in a private folder that is removed after the run. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Transport, TransportAddress } from '../transports/transport.ts';

/** A command whose placeholders are paths, and what the paths are for. */
export interface FilledCommand {
  command: string;
  /** Where the command was asked to serve; undefined when it names no placeholder of a transport. */
  at: TransportAddress | undefined;
  /** Where the command was asked to serve its control API. */
  control: string | undefined;
  /** Removes the folder. */
  remove(): void;
}

/**
 * The command with paths for its placeholders; undefined when it has none. The paths need no quoting, and they are short because
 * the path of a socket may have 107 bytes.
 */
export function fillPlaceholders(command: string, transports: readonly Transport[]): FilledCommand | undefined {
  const fileNames = new Map([
    ...transports.flatMap(({ addressField, placeholder }) =>
      placeholder === undefined ? [] : [[addressField, placeholder] as const],
    ),
    ['control', 'control.sock'] as const,
    ['dir', 'agent'] as const,
  ]);
  const used = [...fileNames.keys()].filter((name) => command.includes(`{${name}}`));
  if (used.length === 0) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'muster-'));
  const path = (name: string): string => join(folder, fileNames.get(name) ?? name);
  const transport = transports.find(({ addressField }) => used.includes(addressField));
  return {
    command: used.reduce((line, name) => line.replaceAll(`{${name}}`, path(name)), command),
    at: transport === undefined ? undefined : { transport, address: path(transport.addressField) },
    control: used.includes('control') ? path('control') : undefined,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
