/** The ways to the Device API of a situation. */
import { chmodSync, writeFileSync } from 'node:fs';
import { CLIENT_PLACES, CLIENT_VARIABLES, type ClientPlace } from '../../../harness/contract/client.ts';
import type { Client } from './context.ts';

/** The first way that the client knows. */
export const placeOf = (t: Client): ClientPlace => CLIENT_PLACES.find((place) => t.capabilities.has(place)) ?? 'url';

/** The variables that name it. `pathOf` gives a path in the folder of the situation. */
export function addressAt(place: ClientPlace, url: string, pathOf: (name: string) => string): Record<string, string> {
  if (place === 'discovery') return { [CLIENT_VARIABLES.discovery]: pathOf('agent.json') };
  const named = { [CLIENT_VARIABLES.deviceUrl]: url };
  return place === 'socket' ? { ...named, [CLIENT_VARIABLES.socket]: pathOf('agent.sock') } : named;
}

/** What a discovery file says of the server at `url` (section 5). */
export const discoveryOf = (url: string, token: string): string =>
  JSON.stringify({ port: Number(new URL(url).port), token });

/** Writes a file that users of a container may read too. Its folder, which is closed by default, says who gets there. */
export function writeShared(path: string, text: string): void {
  writeFileSync(path, text);
  chmodSync(path, 0o644);
}
