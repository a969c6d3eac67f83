/** An event as it came over the wire, read far enough to follow and compare it: its number, its type, its envelope. */
import type { SseFrame } from '../../../harness/client/sse-parser.ts';
import { isIso8601 } from '../../../harness/contract/shape.ts';
import type { Assertions } from './check.ts';
import { isObject } from './requests.ts';

export interface SeenEvent {
  /** Ids may lie beyond 2^53. */
  id: bigint;
  type: string;
  /** `data` of the frame, as sent. */
  text: string;
  /** `data` of the frame as a JSON object; undefined when it is not one. */
  envelope: Record<string, unknown> | undefined;
  frame: SseFrame;
}

/** Decimal integer, as an SSE `id` field carries it. */
export const DECIMAL = /^-?\d{1,40}$/;

/** Undefined for a frame that carries no event, such as a block with nothing but `retry`. */
export function readEvent(t: Assertions, frame: SseFrame): SeenEvent | undefined {
  if (carriesNoEvent(frame)) return undefined;
  const { id, event, data } = frame;
  if (id === undefined || !DECIMAL.test(id) || data === undefined)
    t.must(false, {
      expected: 'an event frame with id (a decimal integer), event and data',
      actual: showFrame(frame),
    });
  return { id: BigInt(id), type: event ?? 'message', text: data, envelope: parseObject(data), frame };
}

/** Every event that has come on a stream, read or not; of a stream that brought more than a check causes, the newest. */
export const eventsOf = (t: Assertions, { frames }: { readonly frames: Iterable<SseFrame> }): SeenEvent[] =>
  [...frames].flatMap((frame) => readEvent(t, frame) ?? []);

/** A client dispatches nothing for a block without data (HTML standard, section 9.2.6): it carries `retry`, or an id alone. */
export const carriesNoEvent = (frame: SseFrame): boolean => frame.data === undefined;

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
  const ids = (some: readonly { id: bigint }[]): string => some.map(({ id }) => String(id)).join(', ');
  return events.length <= 24
    ? `[${ids(events)}]`
    : `[${ids(events.slice(0, 12))}, … ${ids(events.slice(-6))}] (${events.length})`;
};

/** Each event once, where it came first: delivery is at least once. */
export function distinct(events: readonly SeenEvent[]): SeenEvent[] {
  const seen = new Set<bigint>();
  return events.filter(({ id }) => !seen.has(id) && seen.add(id));
}

/** Deep equality, whatever the order of members. */
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

/** The members of section 2.3. Any other member may describe the delivery, so it may differ from one delivery to the next. */
const MEMBERS = ['object', 'id', 'type', 'occurred_at', 'data'];

export function sameEnvelope(
  left: Record<string, unknown> | undefined,
  right: Record<string, unknown> | undefined,
): boolean {
  if (left === undefined || right === undefined) return left === right;
  return MEMBERS.every((name) => sameContent(left[name], right[name]));
}

/** Deep equality, but a moment may be written in another way: a device may keep milliseconds where it first sent microseconds. */
function sameContent(left: unknown, right: unknown): boolean {
  if (typeof left === 'string' && typeof right === 'string')
    return left === right || (isIso8601(left) && isIso8601(right) && Date.parse(left) === Date.parse(right));
  if (isObject(left) && isObject(right)) {
    const names = new Set([...Object.keys(left), ...Object.keys(right)]);
    return [...names].every(
      (name) => Object.hasOwn(left, name) === Object.hasOwn(right, name) && sameContent(left[name], right[name]),
    );
  }
  return sameJson(left, right);
}
