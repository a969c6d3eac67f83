import { expect, test } from 'vitest';
import { retryAfterMs } from './retry-after.ts';

test.each([
  [{}, undefined],
  [{ 'retry-after': '' }, undefined],
  [{ 'retry-after': 'soon' }, undefined],
  [{ 'retry-after': '-1' }, undefined],
  [{ 'retry-after': ' 2 ' }, 2000],
  [{ 'retry-after': '0.5' }, 500],
  [{ 'retry-after': 'Sun, 22 Nov 2026 00:00:10 GMT', date: 'Sun, 22 Nov 2026 00:00:03 GMT' }, 7000],
  [{ 'retry-after': 'Sun, 22 Nov 2026 00:00:03 GMT', date: 'Sun, 22 Nov 2026 00:00:10 GMT' }, -7000],
])('%j asks for %s ms', (headers, ms) => {
  expect(retryAfterMs(headers)).toBe(ms);
});

test('a date is compared with the clock at hand where the server sends none', () => {
  const date = new Date(Date.now() + 60_000).toUTCString();
  expect(retryAfterMs({ 'retry-after': date })).toBeGreaterThan(0);
  expect(retryAfterMs({ 'retry-after': date })).toBeLessThanOrEqual(60_000);
});
