/** `{socket}`, `{discovery}`, `{control}` and `{dir}` in a command: private places of this run, which are removed with it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DeviceAddress } from '../transports/transport.ts';

const PLACES = { socket: 'agent.sock', discovery: 'discovery.json', control: 'control.sock', dir: 'agent' } as const;
type Place = keyof typeof PLACES;

export interface Filled {
  command: string;
  /** Where the command was told to serve. */
  address: DeviceAddress;
  control: string | undefined;
  forget(): void;
}

/** Undefined when the command names no such place. Paths are short (a socket's may have 107 bytes) and need no quoting. */
export function fillPlaces(command: string): Filled | undefined {
  const named = (Object.keys(PLACES) as Place[]).filter((place) => command.includes(`{${place}}`));
  if (named.length === 0) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'muster-'));
  const path = (place: Place): string => join(folder, PLACES[place]);
  return {
    command: named.reduce((line, place) => line.replaceAll(`{${place}}`, path(place)), command),
    address: named.includes('socket')
      ? { socket: path('socket') }
      : named.includes('discovery')
        ? { discovery: path('discovery') }
        : {},
    control: named.includes('control') ? path('control') : undefined,
    forget: () => rmSync(folder, { recursive: true, force: true }),
  };
}
