/**
 * Who is online, where the broker cannot tell: on an external broker the published protocol has neither a last will nor a birth
 * message. A device counts as online for a minute after each message from it: an HTTP request, a pong, a report of a sync. Every
 * device that has been online is pinged twice a minute, so that an idle one gives such signs.
 */
import type { Clock } from '../../common/clock.ts';

const OFFLINE_AFTER_MS = 60_000;
const PROBE_EVERY_MS = 30_000;
/** Probes are spread over their period: devices are taken in turn, a share of them each second. */
const TICK_MS = 1_000;

export interface Presence {
  seen(deviceId: string): void;
  /** The device's session ended. */
  gone(deviceId: string): void;
  /** Every device is offline from now on. */
  stop(): void;
}

/** Starts watching; `stop` ends it. */
export function presence(options: {
  /** One that never jumps. */
  clock: Clock;
  onConnected(deviceId: string, connected: boolean): void;
  probe(deviceId: string): void;
}): Presence {
  const { clock, onConnected, probe } = options;
  const known = new Map<string, { seenAt: number; probedAt: number; online: boolean }>();

  const timer = setInterval(() => {
    const now = clock.now();
    let share = Math.ceil((known.size * TICK_MS) / PROBE_EVERY_MS);
    for (const [deviceId, state] of known) {
      if (state.online && now - state.seenAt >= OFFLINE_AFTER_MS) {
        state.online = false;
        onConnected(deviceId, false);
      }
      if (share === 0 || now - state.probedAt < PROBE_EVERY_MS) continue;
      share--;
      state.probedAt = now;
      probe(deviceId);
    }
  }, TICK_MS);

  return {
    seen: (deviceId) => {
      const now = clock.now();
      const state = known.get(deviceId);
      if (!state) known.set(deviceId, { seenAt: now, probedAt: now, online: true });
      else state.seenAt = now;
      if (state?.online) return;
      if (state) state.online = true;
      onConnected(deviceId, true);
    },
    gone: (deviceId) => {
      const state = known.get(deviceId);
      known.delete(deviceId);
      if (state?.online) onConnected(deviceId, false);
    },
    stop: () => {
      clearInterval(timer);
      for (const [deviceId, { online }] of known) if (online) onConnected(deviceId, false);
      known.clear();
    },
  };
}
