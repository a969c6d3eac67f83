import { describe, expect, it } from 'vitest';
import { Entrance } from './entrance.ts';

/** Connects after so many refusals with that code. `most`: how many attempts were made at once after these. */
function refusing(code: string, refusals: number) {
  const seen = { attempts: 0, now: 0, most: 0 };
  const connect = async (): Promise<string> => {
    seen.attempts += 1;
    const isRefused = seen.attempts <= refusals;
    if (!isRefused) seen.now += 1;
    seen.most = Math.max(seen.most, seen.now);
    await new Promise((resolve) => setImmediate(resolve));
    if (isRefused) throw Object.assign(new Error(code), { code });
    seen.now -= 1;
    return 'connected';
  };
  return { seen, connect };
}

describe('an entrance', () => {
  it('lets in one at a time once the listener is full', async () => {
    const { connect, seen } = refusing('EAGAIN', 12);
    const entrance = new Entrance();
    await Promise.all(Array.from({ length: 12 }, () => entrance.enter(connect, 10_000)));
    expect(seen).toEqual({ attempts: 24, now: 0, most: 1 });
  });

  it('takes a refusal for a full listener only just after another got in', async () => {
    const entrance = new Entrance();
    await expect(entrance.enter(refusing('ECONNREFUSED', 1).connect, 10_000)).rejects.toThrow('ECONNREFUSED');
    await entrance.enter(refusing('', 0).connect, 10_000);
    expect(await entrance.enter(refusing('ECONNREFUSED', 2).connect, 10_000)).toBe('connected');
    const gone = refusing('ECONNREFUSED', 1000);
    await expect(entrance.enter(gone.connect, 10_000)).rejects.toThrow('ECONNREFUSED');
    expect(gone.seen.attempts).toBeLessThan(8);
  });

  it('gives up in time, and with the signal', async () => {
    const entrance = new Entrance();
    await expect(entrance.enter(refusing('EAGAIN', 1000).connect, 30)).rejects.toThrow('EAGAIN');
    const over = AbortSignal.timeout(20);
    await expect(entrance.enter(refusing('EAGAIN', 10_000).connect, 60_000, over)).rejects.toThrow(/abort/);
  });
});
