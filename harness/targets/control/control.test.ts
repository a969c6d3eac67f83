import { expect, test } from 'vitest';
import { parseExact } from './control.ts';

test('reads integers that no number holds as they are written', () => {
  expect(parseExact('{"first_id":1,"last_id":9007199254740993}')).toEqual({ first_id: 1, last_id: 9007199254740993n });
  expect(parseExact('[-9223372036854775808, 9007199254740991, 1.5, 1e30]')).toEqual([
    -9223372036854775808n,
    9007199254740991,
    1.5,
    1e30,
  ]);
  expect(() => parseExact('{')).toThrow(SyntaxError);
});
