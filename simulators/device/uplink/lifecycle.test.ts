import { describe, expect, it } from 'vitest';
import { ApiError, NetworkError } from '../../common/platform-http.ts';
import { random } from '../../common/random.ts';
import { eventually } from '../../common/testing/scratch.ts';
import type { UplinkStatus } from '../ports.ts';
import { Scheduler, UplinkLifecycle } from './lifecycle.ts';
import type { Shared } from './sync.ts';
import { ManualTime } from './testing/uplinks.ts';
import { failureDelay, reconnectDelay, transientDelay } from './time.ts';

const HOUR = 3_600_000;
const YEAR = 365 * 24 * HOUR;
const START = Date.UTC(2026, 0, 1);

function setUp() {
  const time = new ManualTime(START);
  const abort = new AbortController();
  const events: string[] = [];
  const runs: { resolve(): void; reject(error: Error): void }[] = [];
  const syncer = {
    nextAttemptAt: undefined as number | undefined,
    run: () => new Promise<void>((resolve, reject) => void runs.push({ resolve, reject })),
  };
  const scheduler = new Scheduler(syncer, time, abort.signal, {
    onSyncStarted: () => events.push('started'),
    onReached: () => events.push('reached'),
    onSynced: () => events.push('synced'),
    onSyncFailed: (error) => events.push(`failed: ${error.message}`),
  });
  const end = async (error?: Error) => {
    const run = runs.at(-1);
    const count = runs.length;
    if (error) run?.reject(error);
    else run?.resolve();
    await eventually(() => expect(runs.length > count || time.waiting.length > 0 || abort.signal.aborted).toBe(true));
  };
  return { time, abort, events, runs, syncer, scheduler, end };
}

describe('the sync scheduler', () => {
  it.each([-YEAR, -HOUR, HOUR, YEAR])('keeps its delays when the clock is turned by %i ms', async (by) => {
    const { scheduler, runs, end, time, syncer } = setUp();
    scheduler.syncRequested();
    await end(new ApiError(500, 'x', 'x'));
    time.turn(by);
    expect(await scheduler.sync()).toMatchObject({
      code: 'in_cooldown',
      message: expect.stringContaining(new Date(START + by + 15_000).toISOString()),
    });
    time.advance(14_999);
    expect(runs).toHaveLength(1);
    time.advance(1);
    expect(runs).toHaveLength(2);
    syncer.nextAttemptAt = START + 45_000;
    time.turn(by);
    await end();
    expect(time.waiting).toEqual([30_000]);
  });

  it('answers all callers with one sync', async () => {
    const { scheduler, runs, end, events } = setUp();
    const results = [scheduler.sync(), scheduler.sync()];
    await end();
    expect(await Promise.all(results)).toMatchObject([{ code: 'success' }, { code: 'success' }]);
    expect(runs).toHaveLength(1);
    expect(events).toEqual(['started', 'reached', 'synced']);
    expect(scheduler.syncedAt).toBe(START);
  });

  it('runs one more sync for any number of requests during a sync', async () => {
    const { scheduler, runs, end, events } = setUp();
    for (let request = 0; request < 3; request += 1) scheduler.syncRequested();
    await end();
    expect(runs).toHaveLength(2);
    await end();
    expect(runs).toHaveLength(2);
    expect(events).toEqual(['started', 'started', 'reached', 'synced']);
  });

  it('retries when a deployment is due, is synced only then, and syncs again after twelve hours', async () => {
    const { scheduler, runs, end, time, syncer, events } = setUp();
    scheduler.syncRequested();
    syncer.nextAttemptAt = START + 15_000;
    await end();
    expect(events).toEqual(['started', 'reached']);
    expect(time.waiting).toEqual([15_000]);
    time.advance(15_000);
    expect(runs).toHaveLength(2);
    syncer.nextAttemptAt = undefined;
    await end();
    expect(time.waiting).toEqual([12 * HOUR]);
    expect(events.at(-1)).toBe('synced');
    time.advance(12 * HOUR);
    expect(runs).toHaveLength(3);
  });

  it('keeps the pause after a failure even if a deployment is due', async () => {
    const { scheduler, end, time, syncer } = setUp();
    scheduler.syncRequested();
    syncer.nextAttemptAt = START + 15_000;
    await end();
    time.advance(15_000);
    await end(new ApiError(503, 'x', 'busy'));
    expect(time.waiting).toEqual([15_000]);
  });

  it('retries an unreachable platform with growing delays, without counting failures', async () => {
    const { scheduler, end, time } = setUp();
    const delays: number[] = [];
    for (let attempt = 0; attempt < 7; attempt++) {
      const result = scheduler.sync();
      await end(new NetworkError('unplugged'));
      expect(await result).toEqual({ code: 'network_connection_error', message: 'unplugged' });
      delays.push(...time.waiting);
    }
    expect(delays).toEqual([15_000, 30_000, 60_000, 120_000, 240_000, 300_000, 300_000]);
    const result = scheduler.sync();
    await end(new ApiError(500, 'x', 'broken'));
    expect((await result).code).toBe('in_cooldown');
    expect(time.waiting).toEqual([15_000]);
  });

  it('backs off after other failures, and ignores requests meanwhile', async () => {
    const { scheduler, runs, end, time, events } = setUp();
    const endsAt = '2026-01-01T00:00:15.000Z';
    const failing = scheduler.sync();
    await end(new ApiError(500, 'x', 'broken'));
    expect(await failing).toMatchObject({ code: 'in_cooldown', endsAt });
    expect(events.at(-1)).toMatch(/^failed: HTTP 500/);
    time.advance(14_999);
    const message = expect.stringContaining(endsAt);
    expect(await scheduler.sync()).toMatchObject({ code: 'in_cooldown', message, endsAt });
    scheduler.syncRequested();
    expect(runs).toHaveLength(1);
    time.advance(1);
    expect(runs).toHaveLength(2);
    await end(new ApiError(500, 'x', 'broken'));
    expect(time.waiting).toEqual([30_000]);
    time.advance(30_000);
    await end();
    expect(time.waiting).toEqual([12 * HOUR]);
    scheduler.syncRequested();
    await end(new ApiError(500, 'x', 'broken'));
    expect(time.waiting).toEqual([15_000]);
  });

  it('ends when its signal aborts, and leaves no timer', async () => {
    const { scheduler, abort, time, runs, events } = setUp();
    const result = scheduler.sync();
    abort.abort(new Error('stopped'));
    const stopping = scheduler.stop();
    runs[0]?.reject(new Error('stopped'));
    await stopping;
    expect((await result).code).toBe('network_connection_error');
    expect(time.waiting).toEqual([]);
    expect(events).toEqual(['started']);
  });
});

const attempts = (count: number) => Array.from({ length: count }, (_, attempt) => attempt);

it('backoff of a failure starts at 15 s, doubles, and ends at 24 h', () => {
  expect(attempts(4).map(failureDelay)).toEqual([15_000, 30_000, 60_000, 120_000]);
  expect(failureDelay(13)).toBe(86_400_000);
  expect(failureDelay(10_000)).toBe(86_400_000);
});

it('backoff of a reconnection doubles from about 1 s to 5 min, with random variation', () => {
  const randomness = random(1);
  for (const attempt of attempts(20)) {
    const nominal = Math.min(300_000, 1_000 * 2 ** attempt);
    const delays = attempts(50).map(() => reconnectDelay(attempt, randomness));
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(nominal * 0.75);
    expect(Math.max(...delays)).toBeLessThanOrEqual(Math.min(300_000, nominal * 1.25));
    expect(new Set(delays).size).toBeGreaterThan(10);
  }
});

it('backoff between the retries of a request is half a second to a second', () => {
  const randomness = random(1);
  for (const delay of attempts(100).map(() => transientDelay(randomness))) {
    expect(delay).toBeGreaterThanOrEqual(500);
    expect(delay).toBeLessThanOrEqual(1_000);
  }
});

class IdleUplink extends UplinkLifecycle {
  readonly deviceId = undefined;
  protected readonly liveStatus: UplinkStatus = 'starting';
  sync() {
    return this.scheduler.sync();
  }
  protected async open() {}
  protected async close() {}
  onSyncFailed() {}
}

it.each([
  ['that was started', ['start', 'stop']],
  ['that is started while it stops', ['stop', 'start']],
] as const)('an uplink %s leaves no user of the connections', async (_, calls) => {
  let users = 0;
  const time = new ManualTime(START);
  const shared: Partial<Shared> = { time, acquire: () => void users++, release: async () => void users-- };
  const uplink = new IdleUplink(shared as Shared, {} as never, {} as never, 'robot', {});
  await Promise.allSettled(calls.map((call) => uplink[call]()));
  expect(users).toBe(0);
});
