import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseStrict } from './strict-json.ts';

test.each([
  '{"a":1,"a":2}',
  '{"a":1,"b":{},"a":1}',
  '[{"x":{"a":[{"a":1},{"b":1,"b":2}]}}]',
  '{"a":1,"\\u0061":2}',
  '{"":1,"":2}',
  '{"a":"},{","b":[1,"]"],"a":0}',
])('%s is refused', (text) => {
  expect(() => parseStrict(text)).toThrow(/twice/);
});

test('everything else is what JSON.parse makes of it', () => {
  expect(parseStrict('[{"a":1},{"a":1},["a","a"],{"b":"a","a":"b"}]')).toEqual([
    ...[{ a: 1 }, { a: 1 }, ['a', 'a'], { b: 'a', a: 'b' }],
  ]);
  expect(() => parseStrict('{"a":1')).toThrow(SyntaxError);
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(0, 2), (text, indent) => {
      const written = JSON.stringify(JSON.parse(text), null, indent);
      expect(parseStrict(written)).toEqual(JSON.parse(written));
    }),
  );
});
