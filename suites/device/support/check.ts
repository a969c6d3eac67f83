/** How a device check is declared, what it is given, how long it waits for something that should happen at once, and how it restarts the agent. */
import type { HttpClient } from '../../../harness/client/http.ts';
import type { StopSignal } from '../../../harness/contract/control.ts';
import { checks } from '../../../harness/runner/define.ts';
import type { Capability, CheckContext } from '../../../harness/runner/types.ts';
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

const declare = checks<DeviceContext>();

/**
 * Declares a check. Before it runs, its client is pointed to where the agent is now, since another check may have restarted it.
 * Without the path that `log` or `files` depends on, the check is not applicable.
 */
export const check: typeof declare = (requirement, options, run) =>
  declare(requirement, options, async (given) => {
    const t = { ...given, capabilities: usable(given) };
    const useless = options.needs?.find((name) => given.capabilities.has(name) && !t.capabilities.has(name));
    if (useless !== undefined)
      given.notApplicable(`the capability "${useless}" is declared, but control does not give its ${PATHS[useless]}`);
    await relocate(t);
    await run(t);
  });

/** The optional member of control's information without which a capability is of no use. */
const PATHS: { [name in Capability]?: 'event_log' | 'config_root' } = { log: 'event_log', files: 'config_root' };

const usable = ({ capabilities, info }: DeviceContext): ReadonlySet<Capability> =>
  new Set(
    [...capabilities].filter((name) => {
      const path = PATHS[name];
      return path === undefined || info[path] !== undefined;
    }),
  );
