import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

function callsOfProperty(source: string): string[] {
  return [...source.matchAll(/\bt\.property\(/g)].map(({ index, 0: { length } }) => {
    let open = 1;
    let end = index + length;
    for (; open > 0 && end < source.length; end += 1) {
      if (source[end] === '(') open += 1;
      else if (source[end] === ')') open -= 1;
    }
    return source.slice(index, end);
  });
}

it('every property of the suites describes its counterexample', () => {
  const files = globSync(`${import.meta.dirname}/{device,platform,system}/*.ts`);
  const calls = files
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) => callsOfProperty(readFileSync(file, 'utf8')).map((call) => ({ file, call })));
  expect(calls.length).toBeGreaterThan(10);
  const silent = calls.filter(({ call }) => !/describe/.test(call));
  expect(silent.map(({ file, call }) => `${file}: ${call.slice(0, 60)}`)).toEqual([]);
});
