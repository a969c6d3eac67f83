import { expect, test } from 'vitest';
import { nearest } from './nearest.ts';

const known = ['device.events.no-cursor', 'device.events.replay.exclusive', 'device.version.prefix'];

test.each([
  ['device.events.replay.exclusiv', 'device.events.replay.exclusive'],
  ['device.version.perfix', 'device.version.prefix'],
  ['device.events.*exclusiv', 'device.events.replay.exclusive'],
  ['*.no-crsor', 'device.events.no-cursor'],
  ['device.zzzz*', undefined],
  ['something', undefined],
])('%s: %s', (text, meant) => {
  expect(nearest(text, known)).toBe(meant);
});
