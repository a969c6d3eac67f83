import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readJson } from './routes.ts';

const read = (text: string) => readJson(Buffer.from(text));

describe('a request body', () => {
  it('yields the same value as JSON.parse', () => {
    const plain = fc.jsonValue({ maxDepth: 8 }).filter((value) => !JSON.stringify(value).includes('\\ud'));
    fc.assert(
      fc.property(plain, (value) => {
        expect(read(JSON.stringify(value, null, 1))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it.for([
    ['no JSON', '{"name":'],
    ['nothing but space', '  '],
    ['a trailing comma', '{"name":"a",}'],
    ['one name twice', '{"name":"a","name":"b"}'],
    ['one name twice, escaped', '{"name":"a","n\\u0061me":"b"}'],
    ['one name twice, deep', '{"a":[{"b":{"c":1,"d":"}","c":2}}]}'],
    ['half a surrogate pair', '{"name":"\\ud800"}'],
    ['half a surrogate pair as a name', '{"\\udc00":1}'],
    ['65 levels', `${'['.repeat(65)}${']'.repeat(65)}`],
    ['100,000 levels', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
  ] as const)('is refused when it has %s', ([, text]) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ status: 400, code: 'invalid_json' }));
  });

  it('is refused when it is not UTF-8', () => {
    expect(() => readJson(Buffer.from([0x22, 0xff, 0xfe, 0x22]))).toThrow(/UTF-8/);
  });

  it('may repeat a name in different objects, and nest 64 levels', () => {
    expect(read('[{"a":1},{"a":{"a":":","b":"\\""}}]')).toEqual([{ a: 1 }, { a: { a: ':', b: '"' } }]);
    expect(() => read(`${'['.repeat(64)}${']'.repeat(64)}`)).not.toThrow();
  });

  it('may hold a million escaped quotes', () => {
    const quotes = `"${'\\"'.repeat(1_000_000)}"`;
    expect(read(quotes)).toHaveLength(1_000_000);
    expect(() => read(quotes.slice(0, -1))).toThrow(/valid JSON/);
  });
});
