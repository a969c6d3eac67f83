/** Events as a Device API sends them (sections 2.3, 2.4 and 6.1), and their frames as text. */
import type { DeployedPayload } from '../events.ts';

/** An event before it is written. The id is text, since it may be beyond 2^53. */
export interface SentEvent {
  id: string;
  type: string;
  data: unknown;
  /** The envelope as JSON. */
  json: string;
}

const MOMENT = '2026-05-06T10:00:00Z';

/** The payload of a deployment that was deployed. */
export const payload = (id: string): DeployedPayload => ({
  deployment_id: `dpl_${id}`,
  release_id: `rls_${id}`,
  status: 'deployed',
  activity_status: 'deployed',
  error_status: 'none',
  target_status: 'deployed',
  deployed_at: MOMENT,
});

/** A `deployment.deployed`, or an event with another type and payload. */
export function event(id: number | string, { type = 'deployment.deployed', data }: Partial<SentEvent> = {}): SentEvent {
  const name = String(id);
  const content = data ?? payload(name);
  // Written by hand: JSON.stringify has no integers beyond 2^53.
  const json = `{"object":"event","id":${name},"type":${JSON.stringify(type)},"occurred_at":"${MOMENT}","data":${JSON.stringify(content)}}`;
  return { id: name, type, data: content, json };
}

/** Events with the ids from `first` on. */
export const eventsFrom = (first: number, count: number): SentEvent[] =>
  Array.from({ length: count }, (_, index) => event(first + index));

/** The frame of an event. */
export const frame = ({ id, type, json }: SentEvent): string => `id: ${id}\nevent: ${type}\ndata: ${json}\n\n`;
export const frames = (events: readonly SentEvent[]): string => events.map(frame).join('');

/** Section 6.2, rule 3. */
export const HEARTBEAT = ': heartbeat\n\n';
