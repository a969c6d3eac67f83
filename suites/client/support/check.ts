/** What every check of this suite is given, how a check is declared, and what it rests on. */

import { JOB_TABLE } from '../../../harness/contract/client.ts';
import type { SentEvent } from '../../../harness/contract/situations/events.ts';
import { checks } from '../../../harness/runner/define.ts';
import type { ClientContext } from '../../../harness/targets/opened.ts';
import type { Scene } from './scene.ts';

/** Declares a check of one requirement. */
export const check = checks<ClientContext>();

/** Needs a client that follows the stream. */
export const FOLLOW = ['follow'] as const;

/** The plainest check: an event that comes whole is dispatched. */
export const DISPATCH = [JOB_TABLE.follow.plainest];

/** And the client comes back after its stream has ended. */
export const RECONNECT = [...DISPATCH, 'client.delivery.reconnect'];

/** Waits for the last of the events, and compares all that was dispatched with them: in order, once each, with their payloads. */
export async function expectDispatched(scene: Scene, events: readonly SentEvent[]): Promise<void> {
  const last = events.at(-1);
  if (last === undefined) return;
  await scene.untilDispatched(last.id, `events ${idsOf(events)} to be dispatched`);
  expectExactly(scene, events);
}

/** The same without a wait. */
export function expectExactly(scene: Scene, events: readonly SentEvent[]): void {
  const seen = scene.dispatched;
  const same = seen.length === events.length && seen.every(({ id }, index) => id === events[index]?.id);
  scene.must(same, {
    expected: `events ${idsOf(events)} dispatched once each, in this order`,
    actual: `dispatched ${seen.length === 0 ? 'nothing' : idsOf(seen)}`,
  });
  for (const [index, sent] of events.entries()) {
    const { type, data } = seen[index] ?? {};
    scene.must(type === sent.type, { expected: `event ${sent.id} dispatched as ${sent.type}`, actual: String(type) });
    scene.must(has(data, sent.data), {
      expected: `event ${sent.id} with the payload ${JSON.stringify(sent.data).slice(0, 300)}`,
      actual: (JSON.stringify(data) ?? 'none').slice(0, 300),
    });
  }
}

const idsOf = (events: readonly { id: string }[]): string => events.map(({ id }) => id).join(', ');

/** Whether a JSON value has all of another: a client may add members, and their order says nothing. */
function has(seen: unknown, sent: unknown): boolean {
  if (sent === null || typeof sent !== 'object') return seen === sent;
  if (seen === null || typeof seen !== 'object' || Array.isArray(seen) !== Array.isArray(sent)) return false;
  return Object.entries(sent).every(([name, value]) => has((seen as Record<string, unknown>)[name], value));
}
