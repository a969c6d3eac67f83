/** How long checks pause after a 429, and which requests are of one kind. */
import { expect, it } from 'vitest';
import { kindOfRequest, pauseMs } from './requests.ts';

it.for([
  [{ 'retry-after': '2' }, 0, 2000],
  [{ 'retry-after': '0' }, 0, 50],
  [{ 'retry-after': '3600' }, 0, 10_000],
  [{ 'retry-after': 'Sat, 21 Nov 2026 10:00:03 GMT', date: 'Sat, 21 Nov 2026 10:00:00 GMT' }, 0, 3000],
  [{ 'retry-after': 'soon' }, 1, 200],
  [{}, 0, 100],
  [{}, 30, 3200],
] as const)('a pause with %j at attempt %i lasts %i ms', ([headers, attempt, expected]) => {
  expect(pauseMs(headers, attempt)).toBe(expected);
});

it('a kind of request is the same for every id', () => {
  expect(kindOfRequest('POST', '/devices/dvc_1/ping')).toBe(kindOfRequest('POST', '/devices/dvc_2/ping'));
  expect(kindOfRequest('GET', '/devices/dvc_1')).not.toBe(kindOfRequest('GET', '/devices'));
});
