/** What the specification says of a deployment, a frame, an envelope, a payload and a sequence of events, wherever they were seen. */
import type { SseFrame } from '../../../harness/client/sse-parser.ts';
import { deployment } from '../../../harness/contract/deployment.ts';
import { deployedPayload, eventEnvelope } from '../../../harness/contract/events.ts';
import type { Problem, Shape } from '../../../harness/contract/shape.ts';
import type { Assertions } from './check.ts';
import {
  carriesNoEvent,
  DECIMAL,
  distinct,
  integerIn,
  parseObject,
  type SeenEvent,
  sameEnvelope,
  showFrame,
  showIds,
} from './events.ts';
import { isObject } from './requests.ts';

/** Where a value departs from a shape; undefined when it does not. */
export function problemsOf(shape: Shape, value: unknown): string | undefined {
  const problems = shape.problems(value);
  return problems.length === 0 ? undefined : problems.slice(0, 6).map(readable).join('; ');
}

const readable = ({ path, message }: Problem): string => `${path === '' ? 'it' : path} ${message}`;

/** Section 2.1. */
export function expectDeployment(t: Assertions, body: unknown, where: string): void {
  const problems = problemsOf(deployment, body);
  t.must(problems === undefined, {
    expected: `a Deployment in ${where}: every field of section 2.1 with its type, prefix, enumeration and ISO 8601 timestamp`,
    actual: `${problems} in ${JSON.stringify(body)}`,
  });
}

/** Section 2.2: the merged status. False when the object does not carry the statuses, so that nothing was compared. */
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

/** Section 6.1. */
export function expectEventFrame(t: Assertions, frame: SseFrame): void {
  if (carriesNoEvent(frame)) return;
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

/** Section 2.3, for a frame that has passed `expectEventFrame`. */
export function expectEnvelope(t: Assertions, frame: SseFrame): void {
  if (carriesNoEvent(frame)) return;
  const text = frame.data ?? '';
  const envelope = parseObject(text);
  const problems = problemsOf(eventEnvelope, withoutTypeForm(envelope));
  t.must(problems === undefined, {
    expected: 'an envelope: object "event", integer id, string type, occurred_at an ISO 8601 date-time, data an object',
    actual: `${problems} in ${text.slice(0, 400)}`,
  });
  t.must(DECIMAL.test(frame.id ?? '') && integerIn(text, 'id') === BigInt(frame.id ?? ''), {
    expected: `the envelope's id equals the SSE id ${frame.id}`,
    actual: `id ${integerIn(text, 'id') ?? `${JSON.stringify(envelope?.['id'])}, which is not written as an integer,`} in ${text.slice(0, 300)}`,
  });
  t.must(envelope?.['type'] === frame.event, {
    expected: `the envelope's type equals the SSE event ${JSON.stringify(frame.event)}`,
    actual: `type ${JSON.stringify(envelope?.['type'])}`,
  });
}

/** The form of the type is a requirement of its own; here it only has to be a string. */
function withoutTypeForm(envelope: Record<string, unknown> | undefined): unknown {
  return typeof envelope?.['type'] === 'string' ? { ...envelope, type: 'a.b' } : envelope;
}

const TYPE_FORM = /^[^.\s]+\.[^.\s]+$/;
const VERSION_SUFFIX = /([._@:/-]v\d+([._]\d+)*|[@:]\d+([._]\d+)*)$/i;
const KNOWN_WITH_MORE = /^deployment\.(deployed|removed)[._@:/-]?v?\d+$/i;

/** Sections 6.1 and 6.2, rule 4. */
export function expectTypeForm(t: Assertions, type: string): void {
  t.must(TYPE_FORM.test(type), {
    expected: 'an event type of the form {resource}.{action}',
    actual: JSON.stringify(type),
  });
  t.must(!VERSION_SUFFIX.test(type) && !KNOWN_WITH_MORE.test(type), {
    expected: 'an event type without a version suffix',
    actual: JSON.stringify(type),
  });
}

/** Section 2.4. `data` is the envelope's. */
export function expectDeployedPayload(t: Assertions, data: unknown): void {
  const problems = problemsOf(deployedPayload, data);
  t.must(problems === undefined, {
    expected: 'the payload of deployment.deployed: every field of section 2.4, deployed_at an ISO 8601 date-time',
    actual: `${problems} in ${JSON.stringify(data)}`,
  });
  if (isObject(data)) expectMergedStatus(t, data, 'the payload of deployment.deployed');
}

/** The same events in the same order with the same content, apart from repetitions. */
export function expectSameEvents(
  t: Assertions,
  actual: readonly SeenEvent[],
  expected: readonly SeenEvent[],
  where: string,
): void {
  expectSameIds(t, actual, expected, where);
  const known = new Map(expected.map((event) => [event.id, event]));
  for (const event of distinct(actual)) {
    const before = known.get(event.id);
    if (before?.type === event.type && sameEnvelope(before.envelope, event.envelope)) continue;
    t.must(false, {
      expected: `event ${event.id} as it was sent before: ${before?.type} ${before?.text.slice(0, 300)}`,
      actual: `${event.type} ${event.text.slice(0, 300)}`,
    });
  }
}

/** The same events in the same order, whatever they hold by now. */
export function expectSameIds(
  t: Assertions,
  actual: readonly SeenEvent[],
  expected: readonly SeenEvent[],
  where: string,
): void {
  const came = distinct(actual);
  const due = distinct(expected);
  const known = new Set(due.map(({ id }) => id));
  const present = new Set(came.map(({ id }) => id));
  const missing = due.filter(({ id }) => !present.has(id));
  const extra = came.filter(({ id }) => !known.has(id));
  t.must(missing.length === 0 && extra.length === 0 && came.every(({ id }, index) => due[index]?.id === id), {
    expected: `the events ${showIds(due)} for ${where}`,
    actual: `${showIds(came)}${missing.length === 0 ? '' : `, missing ${showIds(missing)}`}${extra.length === 0 ? '' : `, not expected ${showIds(extra)}`}`,
  });
}
