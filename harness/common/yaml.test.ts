import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../targets/testing/places.ts';
import { UsageError } from './usage.ts';
import { parseYaml, readYaml, YamlError } from './yaml.ts';

const folder = temporaryFolder();

const level = (name: string, item: string): string => `${name}: &${name} [${Array(9).fill(item).join(', ')}]`;
const BOMB = [...'abcdefghi']
  .map((name, index) => level(name, index === 0 ? 'x' : `*${'abcdefgh'[index - 1]}`))
  .join('\n');

test('values, places and days are read as written', () => {
  const { value, lines } = parseYaml('a: &one {day: 2026-11-25}\nb: *one\n"__proto__": {x: 1}\n');
  expect(JSON.stringify(value)).toBe('{"a":{"day":"2026-11-25"},"b":{"day":"2026-11-25"},"__proto__":{"x":1}}');
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect(lines.linePos(26)).toEqual({ line: 2, col: 1 });
});

test('one value may be aliased hundreds of times', () => {
  const { value } = parseYaml(`a: &a {x: 1}\nb: [${Array(500).fill('*a').join(', ')}]\n`);
  expect((value as { b: unknown[] }).b).toHaveLength(500);
});

test.each([
  ['a bomb', BOMB, 'its aliases make more than 1000000 values of it'],
  ['what holds itself', 'known: &a [*a]\n', 'an alias stands within what it names'],
  ['what holds itself further down', 'a: &a {b: [{c: *a}]}\n', 'an alias stands within what it names'],
  ['an alias without an anchor', 'a: *b\n', 'Unresolved alias'],
  ['aliases without number', `a: &a 1\nb: [${'*a,'.repeat(1000)}]\n`, 'more than 1000 anchors and aliases'],
  ['nesting without end', '['.repeat(20_000), 'it is nested too deeply'],
  ['a key twice', 'a: 1\nb: {c: 1, c: 2}\n', "the key 'c' stands twice"],
  ['what is too large', `a: "${'x'.repeat(1_048_576)}"\n`, 'it has more than 1048576 bytes'],
])('%s is refused', (_, text, said) => {
  expect(() => parseYaml(text)).toThrow(YamlError);
  expect(() => parseYaml(text)).toThrow(new RegExp(said));
});

test('every mistake has its line and column', () => {
  const mistakes = [2, 4].map((line) => expect.objectContaining({ at: { line, col: 1 } }));
  expect(() => parseYaml('a: 1\na: 2\nb: 1\nb: 2\n')).toThrow(expect.objectContaining({ mistakes }));
});

test.each([
  ['bomb.yaml', BOMB, /^--baseline \S+bomb\.yaml: its aliases/],
  ['twice.yaml', 'a: 1\na: 2\n', /^--baseline \S+twice\.yaml:2:1: the key 'a' stands twice$/],
])('the error for a refused file names the file: %s', (name, text, said) => {
  const file = join(folder, name);
  writeFileSync(file, text);
  expect(() => readYaml('--baseline', file)).toThrow(UsageError);
  expect(() => readYaml('--baseline', file)).toThrow(said);
  expect(() => readYaml('--baseline', folder)).toThrow(/^--baseline \S+: cannot be read \(it is a folder\)$/);
});
