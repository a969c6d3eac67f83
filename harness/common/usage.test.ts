import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EXIT, exitCodesText, nearest } from './usage.ts';

test('exit codes are unique, and follow those of sysexits and shells', () => {
  expect(new Set(Object.values(EXIT)).size).toBe(Object.keys(EXIT).length);
  expect(EXIT).toMatchObject({ conformant: 0, usage: 64, hungUp: 129, interrupted: 130, terminated: 143 });
});

test.each([
  ['check', 'README.md'],
  ['fleet', 'fixtures/scenarios/README.md'],
] as const)('the exit codes of muster %s are in %s', (command, page) => {
  const text = readFileSync(join(import.meta.dirname, '../..', page), 'utf8').replaceAll('\n', ' ');
  expect(text).toContain(`Exit codes: ${exitCodesText(command)}`);
});

const known = ['device.events.no-cursor', 'device.events.replay.exclusive', 'device.version.prefix'];

test.each([
  ['device.events.replay.exclusiv', 'device.events.replay.exclusive'],
  ['device.version.perfix', 'device.version.prefix'],
  ['device.events.*exclusiv', 'device.events.replay.exclusive'],
  ['*.no-crsor', 'device.events.no-cursor'],
  ['device.zzzz*', undefined],
  ['something', undefined],
])('the nearest name to %s: %s', (text, meant) => {
  expect(nearest(text, known)).toBe(meant);
});
