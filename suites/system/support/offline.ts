/** The device without a connection to the platform, for as long as a check needs that. */
import type { System } from './check.ts';

/**
 * Runs `body`, and connects the device again however it ends. What `body` throws matters more than trouble with the connection, which
 * blocks the check otherwise.
 */
export async function onlineAfterwards(t: System, body: () => Promise<void>): Promise<void> {
  try {
    await body();
  } catch (error) {
    await t.online().catch(() => {});
    throw error;
  }
  await t.online();
}

/** Runs `body` while the device is offline, or has been. */
export async function whileOffline(t: System, body: () => Promise<void>): Promise<void> {
  await t.offline();
  await onlineAfterwards(t, body);
}
