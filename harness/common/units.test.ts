import { expect, test } from 'vitest';
import { DURATION_FORM, durationMs, readableDuration, retryAfterMs } from './units.ts';

test('durations of every unit are converted to milliseconds', () => {
  expect(['5ns', '5us', '5µs', '5ms', '1.5s', '2m', '1h', '1d'].map(durationMs)).toEqual([
    5e-6, 5e-3, 5e-3, 5, 1500, 120_000, 3_600_000, 86_400_000,
  ]);
});

test.each(['5', '5 s', 's', '-5s', '1e3s', '1.s', ' 1s', '1w', ''])('%j is refused, with accepted units', (text) => {
  expect(() => durationMs(text)).toThrow(/units ns, us, ms, s, m, h, d/);
  expect(text).not.toMatch(new RegExp(DURATION_FORM));
});

test.each<[number[], string]>([
  [[0, 0.0005, 0.5, 0.9996, 12, 12.34, 450], '0 ms, 0.5 µs, 500 µs, 1 ms, 12 ms, 12.3 ms, 450 ms'],
  [[999.7, 4500, 30_512, 59_980, 119_999, 125_000], '1 s, 4.5 s, 30.5 s, 1 min 0 s, 2 min 0 s, 2 min 5 s'],
  [[3_599_600, 259_200_000], '1 h 0 min, 72 h 0 min'],
])('%j ms read %s', (milliseconds, texts) => {
  expect(milliseconds.map(readableDuration).join(', ')).toBe(texts);
});

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

test('a Retry-After date without a Date header is compared with the local clock', () => {
  const date = new Date(Date.now() + 60_000).toUTCString();
  expect(retryAfterMs({ 'retry-after': date })).toBeGreaterThan(0);
  expect(retryAfterMs({ 'retry-after': date })).toBeLessThanOrEqual(60_000);
});
