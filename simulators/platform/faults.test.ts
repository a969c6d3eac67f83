import { describe, expect, it } from 'vitest';
import { FAULT_FORMS, parseFaults } from './faults.ts';
import { startPlatform } from './testing/client.ts';

describe('faults', () => {
  it('are parsed from text', () => {
    expect(parseFaults('latency=200@0.5')).toEqual({ latency: { milliseconds: 200, rate: 0.5 } });
    expect(parseFaults('429,5xx=502@.1, reset@0 ,slow-body')).toEqual({
      throttle: { retryAfterSeconds: 1, rate: 1 },
      failure: { status: 502, rate: 0.1 },
      reset: { rate: 0 },
      slowBody: { milliseconds: 100, rate: 1 },
    });
  });

  it.for(['', 'latency', 'latency=x', '5xx=404', 'reset=1', '429@2', '429@-1', 'explode'])('%j is refused', (text) => {
    expect(() => parseFaults(text)).toThrow(
      new RegExp(`no fault; accepted are ${FAULT_FORMS[0].replace(/[[\]]/g, '\\$&')}`),
    );
  });

  it('hit every request, or the given share', async () => {
    await using throttled = await startPlatform({ faults: parseFaults('429=7') });
    const reply = await throttled.get('/devices');
    expect([reply.status, reply.headers.get('retry-after')]).toEqual([429, '7']);
    await using failing = await startPlatform({ faults: parseFaults('5xx=502@0.5'), seed: 9 });
    const statuses = await Promise.all(Array.from({ length: 60 }, async () => (await failing.get('/devices')).status));
    expect(new Set(statuses)).toEqual(new Set([200, 502]));
  });

  it('reset connections, and delay answers', async () => {
    await using broken = await startPlatform({ faults: parseFaults('reset') });
    await expect(broken.get('/devices')).rejects.toThrow();
    await using slow = await startPlatform({ faults: parseFaults('latency=30,slow-body=5'), devices: 12, seed: 1 });
    const start = performance.now();
    const { body } = await slow.get('/devices');
    expect(body['data']).toHaveLength(10);
    expect(performance.now() - start).toBeGreaterThanOrEqual(30);
  });

  it('hit the same requests for the same seed', async () => {
    const run = async (seed: number) => {
      await using platform = await startPlatform({ faults: parseFaults('5xx@0.5'), seed });
      const statuses: number[] = [];
      for (let count = 0; count < 20; count++) statuses.push((await platform.get('/principal')).status);
      return statuses;
    };
    expect(await run(4)).toEqual(await run(4));
    expect(await run(4)).not.toEqual(await run(5));
  });
});
