import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chooseCursor, parseCursor, resolveCursor } from './protocol.ts';

describe('an event id', () => {
  test.for(['0', '1', '42', '9007199254740991', '9223372036854775807'])('%s is one', (text) => {
    expect(parseCursor(text)).toBe(Math.min(Number(text), Number.MAX_SAFE_INTEGER));
  });

  const shaped = ['', ' ', 'abc', '1.5', '1e3', '-1', '+1', ' 1', '1 ', '0x10', '007', '1_000', '１', 'NaN', '1\0'];
  const large = ['Infinity', '9223372036854775808', '18446744073709551616', '9'.repeat(10_000)];
  test.for([...shaped, ...large])('%j is not an event id', (text) => {
    expect(parseCursor(text)).toBeUndefined();
  });

  test('is read exactly up to the largest safe integer', () => {
    fc.assert(fc.property(fc.maxSafeNat(), (id) => parseCursor(String(id)) === id));
  });
});

test.for<[string[], string | undefined, ReturnType<typeof chooseCursor>]>([
  [['3'], '9', 3],
  [['9'], '3', 9],
  [['3'], 'nonsense', 3],
  [[''], '3', 'malformed'],
  [[], '7', 7],
  [[], 'x', 'malformed'],
  [[], undefined, 'none'],
  [['1', '2'], undefined, 'malformed'],
  [['1', '1'], undefined, 1],
])('of after=%j and the header %s, what counts is %s', ([after, lastEventId, cursor]) => {
  expect(chooseCursor({ after, lastEventId })).toBe(cursor);
});

describe('the events after a cursor', () => {
  const retained = { earliest: 10, latest: 20 };

  test.for<[number | 'none', number | 'expired']>([
    ['none', 20],
    [0, 'expired'],
    [8, 'expired'],
    [9, 9], // nothing after it is lost
    [10, 10],
    [20, 20],
    [21, 20], // live from now on
    [Number.MAX_SAFE_INTEGER, 20],
  ])('%s → %s', ([cursor, after]) => {
    expect(resolveCursor(cursor, retained)).toBe(after);
  });

  test('0 gets every event as long as the log was not compacted', () => {
    expect(resolveCursor(0, { earliest: 1, latest: 5 })).toBe(0);
    expect(resolveCursor(0, { earliest: 1, latest: 0 })).toBe(0);
  });
});
