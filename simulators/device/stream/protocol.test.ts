import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chooseCursor, parseCursor, resolveCursor } from './protocol.ts';

describe('an event id', () => {
  test.for(['0', '1', '42', '9007199254740991'])('%s is one', (text) => {
    expect(parseCursor(text)).toBe(Number(text));
  });

  test('is any number up to the largest 64-bit one', () => {
    expect(parseCursor('9223372036854775807')).toBe(Number.MAX_SAFE_INTEGER);
  });

  test.for([
    '',
    ' ',
    'abc',
    '1.5',
    '1e3',
    '-1',
    '+1',
    ' 1',
    '1 ',
    '0x10',
    '007',
    '1_000',
    '１',
    'NaN',
    'Infinity',
    '1\0',
    '9223372036854775808',
    '18446744073709551616',
  ])('%j is not an event id', (text) => {
    expect(parseCursor(text)).toBeUndefined();
  });

  test('is not a number of ten thousand digits', () => {
    expect(parseCursor('9'.repeat(10_000))).toBeUndefined();
  });

  test('is read exactly up to the largest safe integer', () => {
    fc.assert(fc.property(fc.maxSafeNat(), (id) => parseCursor(String(id)) === id));
  });
});

describe('of two cursors', () => {
  test('after takes precedence over the header', () => {
    expect(chooseCursor({ after: ['3'], lastEventId: '9' })).toBe(3);
    expect(chooseCursor({ after: ['9'], lastEventId: '3' })).toBe(9);
    expect(chooseCursor({ after: ['3'], lastEventId: 'nonsense' })).toBe(3);
    expect(chooseCursor({ after: [''], lastEventId: '3' })).toBe('malformed');
  });

  test('the header counts without after', () => {
    expect(chooseCursor({ after: [], lastEventId: '7' })).toBe(7);
    expect(chooseCursor({ after: [], lastEventId: 'x' })).toBe('malformed');
    expect(chooseCursor({ after: [], lastEventId: undefined })).toBe('none');
  });

  test('different values of after are malformed', () => {
    expect(chooseCursor({ after: ['1', '2'], lastEventId: undefined })).toBe('malformed');
    expect(chooseCursor({ after: ['1', '1'], lastEventId: undefined })).toBe(1);
  });
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
