import fc from 'fast-check';
import Type from 'typebox';
import { describe, expect, it } from 'vitest';
import { instantOf, isIso8601, objectShape, oneOf, Timestamp } from './shape.ts';

it.each([
  ...['Z', '.123456789Z', '', '+02:00'].map((end) => `2026-05-06T10:00:00${end}`),
  ...['2026-05-06T10:00Z', '2024-02-29T00:00:00Z', '2026-05-06T24:00:00Z'],
])('ISO 8601 date-time accepts and reads %s', (text) => {
  expect(isIso8601(text)).toBe(true);
  expect(instantOf(text)).not.toBeNaN();
});

it.each([
  ['2026-05-06T10:00:00,5Z', '2026-05-06T10:00:00.500Z'],
  ['2026-05-06T10:00+02', '2026-05-06T08:00:00.000Z'],
  ['2026-05-06t10:00:00-0330', '2026-05-06T13:30:00.000Z'],
  ['2016-12-31T23:59:60,25z', '2017-01-01T00:00:00.250Z'],
  ['2026-05-06T24:00Z', '2026-05-07T00:00:00.000Z'],
])('ISO 8601 date-time accepts %s, and reads it as %s', (text, instant) => {
  expect(isIso8601(text)).toBe(true);
  expect(new Date(instantOf(text)).toISOString()).toBe(instant);
});

it.each([
  ...['', '2026-05-06', '10:00:00Z', '2026-05-06 10:00:00Z', '1778061600', 'Wed, 06 May 2026 10:00:00 GMT'],
  ...['2026-13-06', '2026-00-06', '2026-05-32', '2026-02-30', '2025-02-29'].map((day) => `${day}T10:00:00Z`),
  ...['25:00:00Z', '24:30:00Z', '10:60:00Z', '10:00:61Z'].map((time) => `2026-05-06T${time}`),
  ...['.Z', '+24:00', 'Z ', 'Z\n'].map((end) => `2026-05-06T10:00:00${end}`),
])('ISO 8601 date-time refuses %j', (text) => expect(isIso8601(text)).toBe(false));

it('ISO 8601 date-time accepts every instant as JavaScript writes it', () => {
  const year = { min: new Date('0000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true };
  fc.assert(fc.property(fc.date(year), (date) => isIso8601(date.toISOString())));
});

describe('a shape', () => {
  const robot = objectShape('Robot', { state: oneOf(['idle', 'busy']), since: Timestamp, wheels: Type.Integer() });
  const right = { state: 'idle', since: '2026-05-06T10:00:00Z', wheels: 4 };

  it('accepts a conforming value, also with unknown members', () => {
    expect(robot.is(right)).toBe(true);
    expect(robot.problems({ ...right, colour: 'red' })).toEqual([]);
  });

  const { wheels: _, ...lacking } = right;
  it.each<[object, string, string]>([
    [{ ...right, state: 'lost' }, '/state', 'must be one of "idle", "busy"'],
    [{ ...right, since: 'today' }, '/since', 'must be an ISO 8601 date-time'],
    [lacking, '', 'lacks "wheels"'],
    [{ ...right, wheels: 4.5 }, '/wheels', 'must be integer'],
  ])('names the place and the problem: %j', (value, path, message) => {
    expect(robot.is(value)).toBe(false);
    expect(robot.problems(value)).toEqual([{ path, message }]);
  });

  it('names an unknown member where unknown members are refused', () => {
    const closed = objectShape('Closed', { a: Type.String() }, { additionalProperties: false });
    expect(closed.problems({ a: 'x', b: 1 })).toEqual([{ path: '/b', message: 'is not known here' }]);
  });
});
