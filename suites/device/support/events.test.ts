import { expect, it } from 'vitest';
import type { SseFrame } from '../../../harness/client/sse-parser.ts';
import { Violation } from '../../../harness/runner/violation.ts';
import type { Assertions } from './check.ts';
import { type LogLine, linesOf, storesEvent } from './disk.ts';
import {
  distinct,
  expectEnvelope,
  expectEventFrame,
  expectSameEvents,
  expectTypeForm,
  integerIn,
  isId,
  readEvent,
  type SeenEvent,
  showIds,
} from './events.ts';

const t: Assertions = {
  must(holds, { expected, actual }): asserts holds {
    if (!holds) throw new Violation({ expected, actual: String(actual) });
  },
};

const frame = (fields: Partial<Record<'id' | 'event' | 'data' | 'retry', string>>): SseFrame => ({
  ...fields,
  fields: Object.entries(fields).map(([name, value]) => ({ name, value })),
  dispatched: fields.data !== undefined,
  lastEventId: fields.id ?? '',
  at: 0,
  end: 0,
});
const envelope = (id: string): string =>
  `{"object":"event","id":${id},"type":"a.b","occurred_at":"2026-01-02T03:04:05Z","data":{}}`;
const seen = (id: number, content: object = {}): SeenEvent => ({
  id: BigInt(id),
  type: 'a.b',
  text: JSON.stringify(content),
  envelope: { ...content },
  frame: frame({}),
});

it('integers in an envelope are read exactly, beyond 2^53 and beside nested members', () => {
  expect(integerIn('{"id":9223372036854775807,"data":{"id":1}}', 'id')).toBe(9223372036854775807n);
  expect(integerIn('{"data":{"id":1},"id":7}', 'id')).toBe(7n);
  expect(integerIn('{"data":{"id":1}}', 'id')).toBeUndefined();
  expect(integerIn('{"id":"7"}', 'id')).toBeUndefined();
  expect(integerIn('{"id":7.0}', 'id')).toBe(7n);
  expect(integerIn('{"id":7.5}', 'id')).toBeUndefined();
  expect(integerIn('nonsense', 'id')).toBeUndefined();
});

it('frames pass with id, event and data, and with ids beyond 2^53', () => {
  const good = frame({ id: '9223372036854775807', event: 'a.b', data: envelope('9223372036854775807') });
  expect(() => expectEventFrame(t, good)).not.toThrow();
  expect(() => expectEnvelope(t, good)).not.toThrow();
  expect(readEvent(t, good)?.id).toBe(9223372036854775807n);
});

it.for(['deployment.deployed', 'config-instance.written', 'disk.mounted_2', 'x.y'])('the type %s is right', (type) => {
  expect(() => expectTypeForm(t, type)).not.toThrow();
});
it.for(['x.', 'a.b.c', 'deployment.deployed@1', 'deployment.deployed2', 'a b.c'])('the type %s is wrong', (type) => {
  expect(() => expectTypeForm(t, type)).toThrow(Violation);
});

const same = (actual: SeenEvent[], expected: SeenEvent[]) => () => expectSameEvents(t, actual, expected, 'x');
it('sequences of events are the same with repetitions, and differ by order, missing, extra or changed events', () => {
  const [one, two, three] = [seen(1), seen(2), seen(3)] as const;
  expect(distinct([one, two, one]).map(({ id }) => id)).toEqual([1n, 2n]);
  expect(same([one, two, one, two], [one, two])).not.toThrow();
  expect(same([two, one], [one, two])).toThrow('[1, 2] for x; actual: [2, 1]');
  expect(same([one], [one, two])).toThrow('missing [2]');
  expect(same([one, two, three], [one, two])).toThrow('not expected [3]');
  const sent = (data: object, more: object = {}) => [seen(1, { data, ...more })];
  expect(same(sent({ a: 1 }), sent({ a: 2 }))).toThrow('as it was sent before');
  expect(same(sent({ a: 1 }), sent({ a: 1, b: null }))).toThrow('as it was sent before');
  expect(same(sent({ a: 1 }, { sent: 1 }), sent({ a: 1 }, { sent: 2 }))).not.toThrow();
  const at = (fraction: string) => sent({ at: `2026-01-02T03:04:05.${fraction}Z` });
  expect(same(at('123456'), at('123'))).not.toThrow();
  expect(same(at('123'), at('124'))).toThrow('as it was sent before');
});

it('sequences of events are shown as ranges, with missing ids', () => {
  const all = Array.from({ length: 3250 }, (_, index) => seen(index + 7));
  const some = all.filter(({ id }) => id !== 1733n);
  expect(same(some, all)).toThrow('[7–3256] (3250) for x; actual: [7–1732, 1734–3256] (3249), missing [1733]');
  const even = all.filter(({ id }) => id % 2n === 0n);
  expect(showIds(even)).toMatch(/^\[8, 10, .*, 30, … 3246, .*, 3256\] \(1625\)$/);
});

it('sequences of events are compared regardless of the order of members', () => {
  const sent = (data: object) => [seen(1, { data })];
  expect(same(sent([1, { a: [2], b: null }]), sent([1, { b: null, a: [2] }]))).not.toThrow();
  expect(same(sent([1]), sent({ 0: 1 }))).toThrow('as it was sent before');
});

it.each<[string | undefined, string | number | bigint, boolean]>([
  ['7', 7n, true],
  ['0000000007', 7, true],
  ['-007', '-7', true],
  ['70', 7n, false],
  ['', 0n, false],
  [undefined, 0n, false],
  ['abc', 'abc', false],
])('%j is the id %s: %j', (written, id, same) => expect(isId(written, id)).toBe(same));

const line = (text: string): LogLine => ({ text, value: JSON.parse(text), json: true });
it('lines of a log store an event when any of their values is its id', () => {
  expect(storesEvent(line('{"id":12}'), 12n)).toBe(true);
  expect(storesEvent(line('{"seq":"12","event":{}}'), 12n)).toBe(true);
  expect(storesEvent(line('[[12]]'), 12n)).toBe(true);
  expect(storesEvent(line('{"id":123}'), 12n)).toBe(false);
  expect(storesEvent({ text: '{"id":12', value: undefined, json: false }, 12n)).toBe(false);
});

it('lines of a log are found for many events at once', () => {
  const lines = ['{"id":-1}', '{"id":12,"n":13}', '{"seq":"13","again":13}', '{"id":"a-14"}'].map(line);
  const found = Array.from(linesOf(lines, [-1n, 12n, 13n, 14n]), ([id, at]) => `${id}: ${at.join()}`);
  expect(found).toEqual(['-1: 0', '12: 1', '13: 1,2', '14: ']);
});
