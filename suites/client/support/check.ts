/** Context, declaration and premises of a client check, and the variables that lead a client to its server. */

import { chmodSync, writeFileSync } from 'node:fs';
import { CLIENT_PLACES, CLIENT_VARIABLES, type ClientPlace, JOB_TABLE } from '../../../harness/contract/client.ts';
import { checks } from '../../../harness/runner/define.ts';
import type { CheckContext } from '../../../harness/runner/types.ts';
import type { ClientContext } from '../../../harness/targets/opened.ts';
import { sections } from '../../section.ts';

export type Client = ClientContext & CheckContext;

/** Date of the requirement set, which new requirements name in `since`. */
export const NEWEST = '2026-11-25';

export const FOLLOW = ['follow'] as const;

/** Premise of most checks: the client dispatches an event that arrives whole. */
export const DISPATCH = [JOB_TABLE.follow.plainest];

export const RECONNECT = [...DISPATCH, 'client.delivery.reconnect'];

export const section = sections(checks<ClientContext>());

export const placeOf = (t: Client): ClientPlace => CLIENT_PLACES.find((place) => t.capabilities.has(place)) ?? 'url';

export function addressAt(place: ClientPlace, url: string, pathOf: (name: string) => string): Record<string, string> {
  if (place === 'discovery') return { [CLIENT_VARIABLES.discovery]: pathOf('agent.json') };
  const named = { [CLIENT_VARIABLES.deviceUrl]: url };
  return place === 'socket' ? { ...named, [CLIENT_VARIABLES.socket]: pathOf('agent.sock') } : named;
}

/** Writes a file that users of a container may read; its private folder limits access. */
export function writeShared(path: string, text: string): void {
  writeFileSync(path, text);
  chmodSync(path, 0o644);
}
