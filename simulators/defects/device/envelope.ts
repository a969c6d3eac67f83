/** For defects that tell of an event in other words than it was stored. */
import type { StoredEvent } from '../../device/log/line.ts';

export type Envelope = Record<string, unknown>;

/** The event with its envelope changed. */
export function rewritten(event: StoredEvent, change: (envelope: Envelope) => Envelope): StoredEvent {
  return { ...event, json: JSON.stringify(change(JSON.parse(event.json) as Envelope)) };
}
