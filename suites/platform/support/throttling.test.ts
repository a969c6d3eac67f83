/** How long checks pause after a 429. */
import { describe, expect, it } from 'vitest';
import { gateOf, pauseMs } from './throttling.ts';

const endpoint = { origin: 'http://127.0.0.1:1' };
const { signal } = new AbortController();

describe('a pause after 429', () => {
  it.for([
    [{ 'retry-after': '2' }, 0, 2000],
    [{ 'retry-after': '0' }, 0, 50],
    [{ 'retry-after': '3600' }, 0, 10_000],
    [{ 'retry-after': 'Sat, 21 Nov 2026 10:00:03 GMT', date: 'Sat, 21 Nov 2026 10:00:00 GMT' }, 0, 3000],
    [{ 'retry-after': 'soon' }, 1, 200],
    [{}, 0, 100],
    [{}, 30, 3200],
  ] as const)('with %j at attempt %i lasts %i ms', ([headers, attempt, expected]) => {
    expect(pauseMs(headers, attempt)).toBe(expected);
  });
});

describe('the gate', () => {
  it('is shared by all requests of a run, except that each device has its own for pings', () => {
    expect(gateOf(endpoint, '/devices')).toBe(gateOf(endpoint, '/releases/rls_1'));
    expect(gateOf(endpoint, '/devices/dvc_1/ping')).not.toBe(gateOf(endpoint, '/devices'));
    expect(gateOf(endpoint, '/devices/dvc_1/ping')).not.toBe(gateOf(endpoint, '/devices/dvc_2/ping'));
    expect(gateOf({ ...endpoint }, '/devices')).not.toBe(gateOf(endpoint, '/devices'));
  });

  it('delays requests while it is closed, and none before or after', async () => {
    const gate = gateOf({ ...endpoint }, '/devices');
    await gate.pass(signal);
    const closed = performance.now();
    gate.close({ 'retry-after': '0.1' }, 0);
    await Promise.all([gate.pass(signal), gate.pass(signal)]);
    expect(performance.now() - closed).toBeGreaterThanOrEqual(100);
  });

  it('stops waiting when the run is interrupted', async () => {
    const gate = gateOf({ ...endpoint }, '/devices');
    gate.close({ 'retry-after': '10' }, 0);
    const run = new AbortController();
    const waiting = gate.pass(run.signal);
    run.abort();
    await expect(waiting).rejects.toThrow('aborted');
  });
});
