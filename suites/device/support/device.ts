/** What a device check is given, how long it waits for something that should happen at once, and how it restarts the agent. */
import type { HttpClient } from '../../../harness/client/http.ts';
import type { StopSignal } from '../../../harness/contract/control.ts';
import type { CheckContext } from '../../../harness/runner/types.ts';
import type { DeviceContext } from '../../../harness/targets/opened.ts';

export type Device = DeviceContext & CheckContext;

/** As much of it as an assertion needs. */
export type Assertions = Pick<CheckContext, 'must'>;

/** Checks that have timed out, by their signal: every copy of a check's context has the same one. */
const timedOut = new WeakSet<AbortSignal>();
const TIMEOUT_FACTOR_AFTER_FAILURE = 0.1;

/**
 * Milliseconds. A check that has timed out once has failed: whatever it still waits for only shrinks the counterexample, so it
 * waits less.
 */
export const timeoutMs = (t: Device): number =>
  timedOut.has(t.signal) ? t.patienceMs * TIMEOUT_FACTOR_AFTER_FAILURE : t.patienceMs;

export function recordTimeout(t: Device): void {
  timedOut.add(t.signal);
}

/** Stops and starts the agent, and gives the client for it. */
export async function restart(
  t: Device,
  signal: StopSignal = 'SIGTERM',
  whileDown?: () => Promise<void>,
): Promise<HttpClient> {
  await t.control.stop(signal);
  try {
    await whileDown?.();
  } finally {
    await t.control.start();
  }
  return relocate(t);
}

/** Points the context to where the agent is now, since it may come back at another address, and gives the client for it. */
export async function relocate(t: { -readonly [name in keyof Device]: Device[name] }): Promise<HttpClient> {
  const { transport, http } = t;
  const moved = await transport.relocate(http.recorder.redactor);
  if (moved === transport) return http;
  t.transport = moved;
  t.http = moved.client(http.recorder).with({ timeoutMs: t.patienceMs, signal: t.signal });
  return t.http;
}
