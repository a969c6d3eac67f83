import { isDeepStrictEqual } from 'node:util';
import type { SseFrame } from '../../../harness/client/sse-parser.ts';
import { isObject, parseObject } from '../../../harness/common/lenient.ts';
import { deployedPayload, deployment, eventEnvelope } from '../../../harness/contract/device-api.ts';
import { instantOf, isIso8601, type Shape } from '../../../harness/contract/shape.ts';
import type { Judge, Rule } from '../../../harness/runner/rules.ts';
import type { Assertions } from './check.ts';

export interface SeenEvent {
  id: bigint;
  type: string;
  text: string;
  envelope: Record<string, unknown> | undefined;
  frame: SseFrame;
}

export const DECIMAL = /^-?\d{1,40}$/;

/** True for the same integer, with leading zeros too. */
export const isId = (written: string | undefined, id: string | number | bigint): boolean =>
  [written ?? '', String(id)].every((text) => DECIMAL.test(text)) && BigInt(written ?? '') === BigInt(id);

export function readEvent(t: Assertions, frame: SseFrame): SeenEvent | undefined {
  if (carriesNoEvent(frame)) return undefined;
  const { id, event, data } = frame;
  if (id === undefined || !DECIMAL.test(id) || data === undefined)
    t.must(false, { expected: 'an event frame with id (a decimal integer), event and data', actual: showFrame(frame) });
  return { id: BigInt(id), type: event ?? 'message', text: data, envelope: parseObject(data), frame };
}

export const eventsOf = (t: Assertions, { frames }: { readonly frames: Iterable<SseFrame> }): SeenEvent[] =>
  [...frames].flatMap((frame) => readEvent(t, frame) ?? []);

/** Clients ignore a block without data (HTML standard, section 9.2.6). */
export const carriesNoEvent = (frame: SseFrame): boolean => frame.data === undefined;

/** Reads an integer with all its digits beyond 2^53, where JSON.parse loses some; below, also in forms such as 7.0. */
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
  const source = written.get(root) ?? '';
  if (/^-?\d+$/.test(source)) return BigInt(source);
  return source !== '' && Number.isSafeInteger(Number(source)) ? BigInt(Number(source)) : undefined;
}

/** Maximum number of remembered events, and of characters in each. */
export const REMEMBERED = 2000;
export const LONGEST_REMEMBERED = 2000;

/** Judges each event once, because replays repeat events by the thousand. */
export const ofFrames =
  (expectOne: (judge: Judge, frame: SseFrame) => void): (() => Rule) =>
  () => {
    const known = new Recollection<{ event: string | undefined; data: string }>();
    return (seen, judge) => {
      if (seen.kind !== 'frame' || carriesNoEvent(seen.frame)) return;
      const { id = '', event, data = '' } = seen.frame;
      const before = known.get(id);
      if (before?.event === event && before?.data === data) return;
      if (data.length <= LONGEST_REMEMBERED) known.set(id, { event, data });
      judge.saw(() => frameText(seen.frame));
      expectOne(judge, seen.frame);
    };
  };

export class Recollection<T> extends Map<string, T> {
  override set(id: string, value: T): this {
    super.set(id, value);
    const [oldest] = this.size > REMEMBERED ? this.keys() : [];
    if (oldest !== undefined) this.delete(oldest);
    return this;
  }
}

export const frameText = ({ fields }: SseFrame): string =>
  `${fields.map(({ name, value }) => `${name}: ${value}\n`).join('')}\n`;

export function showFrame(frame: SseFrame): string {
  const shown = (value: string): string => (value.length > 200 ? `${value.slice(0, 200)}…` : value);
  const lines = frame.fields.map(({ name, value }) => `${name}: ${shown(value)}`);
  return JSON.stringify(lines.slice(0, 12).join('\n'));
}

/** Shows ids as ranges, such as `[7, 9–3250] (3243)`, without the middle of a long list. */
export function showIds(events: readonly { id: bigint }[]): string {
  const ranges: { from: bigint; to: bigint }[] = [];
  for (const { id } of events) {
    const last = ranges.at(-1);
    if (last !== undefined && id === last.to + 1n) last.to = id;
    else ranges.push({ from: id, to: id });
  }
  const parts = ranges.flatMap(({ from, to }) =>
    to - from > 1n ? `${from}–${to}` : [...new Set([`${from}`, `${to}`])],
  );
  const shown =
    parts.length <= 24 ? parts.join(', ') : `${parts.slice(0, 12).join(', ')}, … ${parts.slice(-6).join(', ')}`;
  return `[${shown}]${events.length > 24 ? ` (${events.length})` : ''}`;
}

export function distinct(events: readonly SeenEvent[]): SeenEvent[] {
  const seen = new Set<bigint>();
  return events.filter(({ id }) => !seen.has(id) && seen.add(id));
}

/** Members of section 2.3; others may describe the delivery and differ each time. */
const MEMBERS = ['object', 'id', 'type', 'occurred_at', 'data'];

export function sameEnvelope(left: SeenEvent['envelope'], right: SeenEvent['envelope']): boolean {
  if (left === undefined || right === undefined) return left === right;
  return MEMBERS.every((name) => sameContent(left[name], right[name]));
}

/** Compares milliseconds, because a device may later cut the microseconds of an event. */
function sameContent(left: unknown, right: unknown): boolean {
  if (typeof left === 'string' && typeof right === 'string')
    return left === right || (isIso8601(left) && isIso8601(right) && instantOf(left) === instantOf(right));
  if (isObject(left) && isObject(right)) {
    const names = new Set([...Object.keys(left), ...Object.keys(right)]);
    return [...names].every(
      (name) => Object.hasOwn(left, name) === Object.hasOwn(right, name) && sameContent(left[name], right[name]),
    );
  }
  return isDeepStrictEqual(left, right);
}

export const otherThanBefore = (
  before: Pick<SeenEvent, 'type' | 'text'> | undefined,
  { id, type, text }: Pick<SeenEvent, 'type' | 'text'> & { id: bigint | string },
): { expected: string; actual: string } => ({
  expected: `event ${id} as it was sent before: ${before?.type} ${before?.text.slice(0, 300)}`,
  actual: `${type} ${text.slice(0, 300)}`,
});

export function problemsOf(shape: Shape, value: unknown): string | undefined {
  const problems = shape.problems(value);
  const readable = problems.slice(0, 6).map(({ path, message }) => `${path === '' ? 'it' : path} ${message}`);
  return problems.length === 0 ? undefined : readable.join('; ');
}

export function expectDeployment(t: Assertions, body: unknown, where: string): void {
  const problems = problemsOf(deployment, body);
  t.must(problems === undefined, {
    expected:
      `a Deployment in ${where}: every field of section 2.1 with its type, prefix, enumeration and ` +
      'ISO 8601 timestamp',
    actual: problems && `${problems} in ${JSON.stringify(body)}`,
  });
}

/** Judges the merge rule of section 2.2; returns false without activity_status or error_status. */
export function expectMergedStatus(t: Assertions, fields: Record<string, unknown>, where: string): boolean {
  const { status, activity_status: activity, error_status: error } = fields;
  if (typeof activity !== 'string' || typeof error !== 'string') return false;
  const merged = error === 'none' ? activity : error;
  t.must(status === merged, {
    expected: `status ${merged} in ${where}, since error_status is ${error} and activity_status ${activity}`,
    actual: `status ${JSON.stringify(status)}`,
  });
  return true;
}

export function expectEventFrame(t: Assertions, frame: SseFrame): void {
  const expected =
    'every event frame has id (a decimal integer), event (a type) and data (one JSON object, the envelope)';
  const missing = ['id', 'event'].filter((name) => !frame.fields.some((field) => field.name === name));
  t.must(missing.length === 0, { expected, actual: `no ${missing.join(', no ')} in ${showFrame(frame)}` });
  t.must(DECIMAL.test(frame.id ?? ''), { expected, actual: `id ${JSON.stringify(frame.id)}` });
  t.must(frame.event !== '', { expected, actual: `an empty event field in ${showFrame(frame)}` });
  t.must(parseObject(frame.data ?? '') !== undefined, {
    expected,
    actual: `data that is not a JSON object: ${JSON.stringify((frame.data ?? '').slice(0, 300))}`,
  });
}

/** Judges section 2.3 in a frame that has passed `expectEventFrame`. */
export function expectEnvelope(t: Assertions, frame: SseFrame): void {
  const text = frame.data ?? '';
  const envelope = parseObject(text);
  // Inserts a valid type, because device.events.type-form judges types.
  const anyType = typeof envelope?.['type'] === 'string' && { type: 'a.b' };
  const problems = problemsOf(eventEnvelope, envelope && { ...envelope, ...anyType });
  t.must(problems === undefined, {
    expected: 'an envelope: object "event", integer id, string type, occurred_at an ISO 8601 date-time, data an object',
    actual: `${problems} in ${text.slice(0, 400)}`,
  });
  const id = integerIn(text, 'id');
  const shown = id ?? `${JSON.stringify(envelope?.['id'])}, which is not written as an integer,`;
  t.must(DECIMAL.test(frame.id ?? '') && id === BigInt(frame.id ?? ''), {
    expected: `the envelope's id equals the SSE id ${frame.id}`,
    actual: `id ${shown} in ${text.slice(0, 300)}`,
  });
  t.must(envelope?.['type'] === frame.event, {
    expected: `the envelope's type equals the SSE event ${JSON.stringify(frame.event)}`,
    actual: `type ${JSON.stringify(envelope?.['type'])}`,
  });
}

const VERSION_SUFFIX = /([._@:/-]v\d+([._]\d+)*|[@:]\d+([._]\d+)*)$/i;
const KNOWN_WITH_MORE = /^deployment\.(deployed|removed)[._@:/-]?v?\d+$/i;

export function expectTypeForm(t: Assertions, type: string): void {
  const actual = JSON.stringify(type);
  t.must(/^[^.\s]+\.[^.\s]+$/.test(type), { expected: 'an event type of the form {resource}.{action}', actual });
  const hasVersion = VERSION_SUFFIX.test(type) || KNOWN_WITH_MORE.test(type);
  t.must(!hasVersion, { expected: 'an event type without a version suffix', actual });
}

export function expectDeployedPayload(t: Assertions, data: unknown): void {
  const problems = problemsOf(deployedPayload, data);
  t.must(problems === undefined, {
    expected: 'the payload of deployment.deployed: every field of section 2.4, deployed_at an ISO 8601 date-time',
    actual: `${problems} in ${JSON.stringify(data)}`,
  });
  if (isObject(data)) expectMergedStatus(t, data, 'the payload of deployment.deployed');
}

type Events = readonly SeenEvent[];

export function expectSameEvents(t: Assertions, actual: Events, expected: Events, where: string): void {
  expectSameIds(t, actual, expected, where);
  const known = new Map(expected.map((event) => [event.id, event]));
  for (const event of distinct(actual)) {
    const before = known.get(event.id);
    if (before?.type === event.type && sameEnvelope(before.envelope, event.envelope)) continue;
    t.must(false, otherThanBefore(before, event));
  }
}

export function expectSameIds(t: Assertions, actual: Events, expected: Events, where: string): void {
  const came = distinct(actual);
  const due = distinct(expected);
  const known = new Set(due.map(({ id }) => id));
  const present = new Set(came.map(({ id }) => id));
  const missing = due.filter(({ id }) => !present.has(id));
  const extra = came.filter(({ id }) => !known.has(id));
  t.must(missing.length === 0 && extra.length === 0 && came.every(({ id }, index) => due[index]?.id === id), {
    expected: `the events ${showIds(due)} for ${where}`,
    actual: [
      showIds(came),
      ...(missing.length === 0 ? [] : [`missing ${showIds(missing)}`]),
      ...(extra.length === 0 ? [] : [`not expected ${showIds(extra)}`]),
    ].join(', '),
  });
}
