/** Devices that are online without an agent: they answer pings at once, and apply no deployment. */
import type { DeviceMessenger } from '../ports.ts';

/** What such a device reports as the round trip of a ping. */
const PING_NANOS = 1_000_000;

/** Answers the pings of these devices, and leaves everything else to `messenger`. */
export function answering(standIns: ReadonlySet<string>, messenger: DeviceMessenger): DeviceMessenger {
  return {
    ping: (id, timeoutNanos) =>
      standIns.has(id)
        ? Promise.resolve({ code: 'success', round_trip_nanos: PING_NANOS })
        : messenger.ping(id, timeoutNanos),
    requestSync: (id) => messenger.requestSync(id),
    disconnect: (id) => messenger.disconnect(id),
  };
}
