import { mkdirSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { refusal, typed, useFolder } from './testing/muster.ts';

const at = useFolder();

const FORMS: Readonly<Record<string, string | Uint8Array>> = {
  empty: '',
  binary: Uint8Array.from({ length: 3000 }, (_, index) => (index * 7919) % 256),
  null: 'null',
  list: '[]',
  number: '1e400',
  text: '"x"',
  object: '{}',
  members: '{"checks":[null],"known":[null],"phases":[null],"robots":null,"verdict":1,"device":1,"devices":[null]}',
  'a report without an end': '{"api":"device","muster":"0","options":{},"checks":[{"id":"device.',
  'a report of odd members': '{"api":"device","options":{"seed":[]},"seed":"x","checks":[{"id":"x","outcome":"fail"}]}',
  nested: '['.repeat(100_000),
  'nested objects': `${'{"checks":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
  'an alias of itself': '&a [*a]',
  prototype: '{"__proto__":{"checks":[]},"constructor":{"prototype":{}}}',
};

for (const [form, content] of Object.entries(FORMS)) writeFileSync(at(form), content);
for (const form of Object.keys(FORMS)) {
  mkdirSync(at(`shards-${form}`));
  writeFileSync(at(`shards-${form}`, 'result.json'), FORMS[form] ?? '');
}

const SOCKET = at('none.sock');
const READERS: Readonly<Record<string, (file: string) => string[]>> = {
  replay: (file) => ['replay', file],
  report: (file) => ['report', file],
  compare: (file) => ['compare', file, file],
  baseline: (file) => typed`check device --socket ${SOCKET} --baseline ${file}`,
  target: (file) => typed`check device --target ${file} --fast`,
  'signing key': (file) =>
    typed`check device --socket ${SOCKET} --name x --target-version 1 --certificate ${at('c')} --key ${file}`,
  'key of a signer': (file) => ['verify', at('empty'), '--key', file],
  scenario: (file) => ['fleet', '--scenario', file],
  'seed file': (file) => typed`simulate platform --port 0 --seed-file ${file}`,
  merge: (file) => ['merge', file.replace(/[^/]+$/, (form) => `shards-${form}`)],
};

/** Valid contents for a kind of file, e.g. an empty seed file. */
const FINE: Readonly<Record<string, readonly string[]>> = {
  target: ['object'],
  'seed file': ['empty', 'null', 'object'],
};

const rows = Object.keys(READERS).flatMap((reader) =>
  Object.keys(FORMS).flatMap((form) => (FINE[reader]?.includes(form) === true ? [] : [[reader, form] as const])),
);

test.each(rows)('a file for %s of the form %s is a usage error', async (reader, form) => {
  const said = await refusal(READERS[reader]?.(at(form)) ?? []);
  expect(said.length).toBeGreaterThan(10);
  expect(said).not.toMatch(/TypeError|RangeError|undefined/);
});
