import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../common/clock.ts';
import { presence } from './external.ts';

function setUp() {
  const changes: string[] = [];
  const probed: string[] = [];
  const watch = presence({
    clock: systemClock,
    onConnected: (id, connected) => changes.push(`${id} ${connected ? 'online' : 'offline'}`),
    probe: (id) => probed.push(id),
  });
  return { changes, probed, watch };
}

describe('presence on an external broker', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('is online from the first message until a minute after the last', () => {
    const { changes, watch } = setUp();
    watch.seen('dvc_1');
    vi.advanceTimersByTime(50_000);
    watch.seen('dvc_1');
    vi.advanceTimersByTime(59_000);
    expect(changes).toEqual(['dvc_1 online']);
    vi.advanceTimersByTime(1_000);
    expect(changes).toEqual(['dvc_1 online', 'dvc_1 offline']);
    watch.seen('dvc_1');
    expect(changes.at(-1)).toBe('dvc_1 online');
    watch.stop();
  });

  it('probes every device twice a minute, spread evenly, also when it is offline', () => {
    const { probed, watch } = setUp();
    for (let index = 0; index < 300; index++) watch.seen(`dvc_${index}`);
    let most = 0;
    for (let second = 0; second < 120; second++) {
      const before = probed.length;
      vi.advanceTimersByTime(1_000);
      most = Math.max(most, probed.length - before);
    }
    expect(most).toBe(10);
    for (let index = 0; index < 300; index++) {
      expect(probed.filter((id) => id === `dvc_${index}`).length).toBeGreaterThanOrEqual(2);
    }
    watch.stop();
  });

  it('goes offline when the session ends or the platform stops', () => {
    const { changes, watch } = setUp();
    watch.seen('dvc_1');
    watch.seen('dvc_2');
    watch.gone('dvc_1');
    watch.gone('dvc_1');
    watch.stop();
    expect(changes).toEqual(['dvc_1 online', 'dvc_2 online', 'dvc_1 offline', 'dvc_2 offline']);
    expect(vi.getTimerCount()).toBe(0);
  });
});
