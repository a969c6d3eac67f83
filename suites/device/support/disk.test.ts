import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Session } from '../../../harness/runner/session.ts';
import { hostFiles } from '../../../harness/targets/files/target-files.ts';
import { temporaryFolder } from '../../../harness/targets/testing/places.ts';
import type { Device } from './check.ts';
import { appendTo, differencesBelowRoot, diskUse, lastLine, readLog, requireConfigRoot } from './disk.ts';

const folder = temporaryFolder();
const deviceWith = (path: string): Device =>
  ({ info: { event_log: path }, files: hostFiles, session: new Session() }) as unknown as Device;

const LINES = Array.from({ length: 1000 }, (_, id) => JSON.stringify({ id, text: 'é'.repeat(id % 7) }));
const TEXT = `${LINES.join('\n')}\n`;

function written(name: string, ...texts: string[]): Device {
  if (texts.length === 1) writeFileSync(join(folder, name), texts[0] ?? '');
  else {
    mkdirSync(join(folder, name));
    for (const [index, text] of texts.entries()) writeFileSync(join(folder, name, `${index}.jsonl`), text);
  }
  return deviceWith(join(folder, name));
}

test.each([
  ['of one file', 'one', [TEXT]],
  ['in segments', 'many', [TEXT, TEXT]],
] as const)('a long log %s is read at both ends, in whole lines', async (_, name, texts) => {
  const t = written(name, ...texts);
  for (let bytes = 500; bytes < 600; bytes += 1) {
    const { lines, isCut, ...log } = await readLog(t, bytes);
    expect(isCut).toBe(true);
    expect(log.bytes).toBe(texts.length * Buffer.byteLength(TEXT));
    expect(lines.every(({ json }) => json)).toBe(true);
    expect(lines[0]?.text).toBe(LINES[0]);
    expect(lines.at(-1)?.text).toBe(LINES.at(-1));
    expect(lines.reduce((sum, { text }) => sum + Buffer.byteLength(text) + 1, 0)).toBeLessThanOrEqual(2 * bytes + 4);
  }
});

test('a long log in many parts is read at its ends', async () => {
  const parts = Array.from({ length: 100 }, (_, part) => `{"id":${part}}\n`.repeat(100));
  const { lines, isCut, bytes } = await readLog(written('hundred', ...parts), 2000);
  const ids = new Set(lines.map(({ value }) => (value as { id: number }).id));
  expect([isCut, bytes, [...ids]]).toEqual([true, parts.join('').length, [0, 1, 2, 98, 99]]);
});

const line = (id: number): string => `${JSON.stringify({ id })}\n`;

test.each([
  ['log', 'events.jsonl', ['events.jsonl.2', 'events.jsonl.1', 'events.jsonl']],
  ['log', 'events.jsonl', ['events.9.jsonl', 'events.10.jsonl', 'events.jsonl']],
  ['log', 'events.2.jsonl', ['events.2.jsonl']],
  ['log', 'events-01.jsonl', ['events-01.9.jsonl', 'events-01.10.jsonl', 'events-01.jsonl']],
  ['log', 'events.log', ['events.log.1', 'events.log']],
  ['log', 'events.jsonl', ['events-2026-11-30T09-00.jsonl', 'events-2026-12-01T00-30-12.345.jsonl', 'events.jsonl']],
  ['log', 'events.jsonl', ['events.jsonl-20261130', 'events.jsonl-20261201', 'events.jsonl']],
  ['folder', '', ['events.jsonl.10', 'events.jsonl.9', 'events.jsonl']],
  ['folder', '', ['0000000001.jsonl', '0000000002.jsonl']],
  ['folder', '', ['events.jsonl.2026-11-30', 'events.jsonl.2026-12-01', 'events.jsonl']],
  ['folder', '', ['events_00009.jsonl', 'events_00010.jsonl']],
])('the parts of a %s %s are read from the oldest to the newest: %j', async (_, named, parts) => {
  const place = mkdtempSync(join(folder, 'parts'));
  for (const [id, name] of parts.entries()) writeFileSync(join(place, name), line(id));
  for (const name of ['events.jsonl.tmp', 'events-1.jsonl.gz', 'agent.log']) writeFileSync(join(place, name), line(99));
  const t = deviceWith(join(place, named));
  expect((await readLog(t)).lines.map(({ value }) => value)).toEqual(parts.map((_, id) => ({ id })));
  expect((await lastLine(t)).toString()).toBe(line(parts.length - 1));
});

test('the last whole line of a log is found, even before a torn one', async () => {
  expect((await lastLine(written('torn', `${TEXT}{"id":10`))).toString()).toBe(`${LINES.at(-1)}\n`);
  expect((await lastLine(written('empty', ''))).toString()).toBe('');
});

test.each([
  ['none', ['{"id":0}', '{"id":1}\n{"id":2}'], [0, 1, 2]],
  ['one before each line', ['\n{"id":0}', '\n{"id":1}\n{"id":2}'], [0, 1, 2]],
  ['one after each line', ['{"id":0}\n', '{"id":1}\n{"id":2}\n'], [0, 1, 2]],
  ['a torn line', ['{"id":0}\n', '{"id":1}\n{"id":2}\n{"id":'], [0, 1, 2]],
  ['an empty line', ['{"id":0}\n', '{"id":1}\n\n{"id":2}\n'], [0, 1, undefined, 2]],
  ['a torn line with its line end', ['{"id":0}\n', '{"id":1}\n{"i\n'], [0, 1, undefined]],
])('segments with %s at their ends are read line by line', async (name, texts, ids) => {
  const { lines } = await readLog(written(name, ...texts));
  expect(lines.map(({ value }) => (value as { id: number } | undefined)?.id)).toEqual(ids);
});

test.each([
  ['after', '{"id":1}\n', '{"id":1}\n', '{"id":1}\n{"id'],
  ['before', '\n{"id":1}', '{"id":1}', '\n{"id":1}\n{"id'],
  ['not yet after', '{"id":1}\n{"id":', '{"id":1}\n', '{"id":1}\n{"id":{"id'],
])('bytes damage no line of an agent that writes a line end %s it', async (_, text, last, whole) => {
  const t = written('appended', text);
  expect(String(await lastLine(t))).toBe(last);
  await appendTo(t, Buffer.from('{"id'));
  expect(readFileSync(join(folder, 'appended'), 'utf8')).toBe(whole);
});

test('files are missing only below a root that is there', async () => {
  const blocked = (reason: string) => {
    throw new Error(reason);
  };
  const below = (config_root: string) =>
    ({ info: { config_root }, files: hostFiles, session: new Session(), blocked }) as unknown as Device;
  const files = [{ filepath: '/a.json', content: '{}' }];
  expect(await differencesBelowRoot(below(folder), files)).toEqual({ lost: ['/a.json is not there'], altered: [] });
  expect(await differencesBelowRoot(below('/nonexistent'), files)).toBeUndefined();
  await requireConfigRoot(below(folder));
  const nothing = 'control names /nonexistent as its config_root, and nothing is there';
  await expect(requireConfigRoot(below('/nonexistent'))).rejects.toThrow(nothing);
});

test('disk use of a log includes its rotated parts, and no other file in its folder', async () => {
  const at = (name: string): string => join(folder, 'beside', name);
  mkdirSync(at(''));
  for (const name of ['events.jsonl', 'agent.log']) writeFileSync(at(name), TEXT);
  const t = deviceWith(at('events.jsonl'));
  const before = await diskUse(t);
  appendFileSync(at('agent.log'), 'x'.repeat(2 ** 20));
  expect(await diskUse(t)).toBe(before);
  writeFileSync(at('events.1.jsonl'), TEXT);
  expect(await diskUse(t)).toBe(before + Buffer.byteLength(TEXT));
});
