/** An event as it came over the wire, read far enough to follow it: its number, its type, its envelope. */
import type { SseFrame } from '../../../harness/client/sse-parser.ts';
import { isIso8601 } from '../../../harness/contract/shape.ts';
import { isObject } from './ask.ts';
import type { Device } from './context.ts';

export interface SeenEvent {
  /** Ids may lie beyond 2^53. */
  id: bigint;
  type: string;
  /** `data` of the frame, as sent. */
  text: string;
  /** `data` of the frame as a JSON object; undefined when it is none. */
  envelope: Record<string, unknown> | undefined;
  frame: SseFrame;
}

/** Decimal integer, as an SSE `id` field carries it. */
export const DECIMAL = /^-?\d{1,40}$/;

/** Undefined for frames that are no events: a block with nothing but `retry`, say. */
export function readEvent(context: Device, frame: SseFrame): SeenEvent | undefined {
  if (isControl(frame)) return undefined;
  context.must(frame.id !== undefined && DECIMAL.test(frame.id) && frame.data !== undefined, {
    expected: 'an event frame with id (a decimal integer), event and data',
    actual: showFrame(frame),
  });
  return {
    id: BigInt(frame.id),
    type: frame.event ?? 'message',
    text: frame.data,
    envelope: parseObject(frame.data),
    frame,
  };
}

/** A block without data is no event: by the standard a client dispatches nothing for it. `retry` comes that way, or an id alone. */
export const isControl = (frame: SseFrame): boolean => frame.data === undefined;

export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** An integer member of the envelope exactly as it is written, since ids may lie beyond 2^53. */
export function integerIn(text: string, key: string): bigint | undefined {
  const written = new Map<unknown, string>();
  let root: unknown;
  try {
    root = JSON.parse(text, function (this: unknown, name: string, value: unknown, details?: { source?: string }) {
      if (name === key && typeof value === 'number') written.set(this, details?.source ?? String(value));
      return value;
    });
  } catch {
    return undefined;
  }
  const source = written.get(root);
  return source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : undefined;
}

export function showFrame(frame: SseFrame): string {
  const lines = frame.fields.map(
    ({ name, value }) => `${name}: ${value.length > 200 ? `${value.slice(0, 200)}…` : value}`,
  );
  return JSON.stringify(lines.slice(0, 12).join('\n'));
}

export const showIds = (events: readonly { id: bigint }[]): string => {
  const ids = events.map((event) => String(event.id));
  return ids.length <= 24
    ? `[${ids.join(', ')}]`
    : `[${ids.slice(0, 12).join(', ')}, … ${ids.slice(-6).join(', ')}] (${ids.length})`;
};

/** Deep equality that knows no order of members. */
export function sameJson(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => sameJson(item, right[index]));
  }
  if (!isObject(left) || !isObject(right)) return false;
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && sameJson(left[key], right[key]))
  );
}

/** The members of section 2.3. What else an envelope carries may say something about its delivery, so it need not stay. */
const MEMBERS = ['object', 'id', 'type', 'occurred_at', 'data'];

export function sameEnvelope(
  left: Record<string, unknown> | undefined,
  right: Record<string, unknown> | undefined,
): boolean {
  if (left === undefined || right === undefined) return left === right;
  return MEMBERS.every((name) => sameTold(left[name], right[name]));
}

/** Equality of what is told, not of how: a moment may be written anew, to the millisecond, once it has been stored. */
function sameTold(left: unknown, right: unknown): boolean {
  if (typeof left === 'string' && typeof right === 'string')
    return left === right || (isIso8601(left) && isIso8601(right) && Date.parse(left) === Date.parse(right));
  if (isObject(left) && isObject(right)) {
    const names = new Set([...Object.keys(left), ...Object.keys(right)]);
    return [...names].every(
      (name) => Object.hasOwn(left, name) === Object.hasOwn(right, name) && sameTold(left[name], right[name]),
    );
  }
  return sameJson(left, right);
}

/** Each event once, where it came first: delivery is at least once. */
export function distinct(events: readonly SeenEvent[]): SeenEvent[] {
  const seen = new Set<bigint>();
  return events.filter(({ id }) => !seen.has(id) && seen.add(id));
}

/** The same events in the same order with the same content, repetitions aside. */
export function sameEvents(
  context: Device,
  actual: readonly SeenEvent[],
  expected: readonly SeenEvent[],
  where: string,
): void {
  const came = distinct(actual);
  const due = distinct(expected);
  const known = new Map(due.map((event) => [event.id, event]));
  const missing = due.filter(({ id }) => !came.some((event) => event.id === id));
  const extra = came.filter(({ id }) => !known.has(id));
  context.must(missing.length === 0 && extra.length === 0 && came.every(({ id }, index) => due[index]?.id === id), {
    expected: `the events ${showIds(due)} for ${where}`,
    actual: `${showIds(came)}${missing.length === 0 ? '' : `, missing ${showIds(missing)}`}${extra.length === 0 ? '' : `, not expected ${showIds(extra)}`}`,
  });
  for (const event of came) {
    const before = known.get(event.id);
    context.must(before?.type === event.type && sameEnvelope(before.envelope, event.envelope), {
      expected: `event ${event.id} as it was sent before: ${before?.type} ${before?.text.slice(0, 300)}`,
      actual: `${event.type} ${event.text.slice(0, 300)}`,
    });
  }
}
