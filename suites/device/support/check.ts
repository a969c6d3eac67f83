/** How a device check is declared, what it is given, how long it waits for something that should happen at once, and how it restarts the agent. */
import { NoAnswer } from '../../../harness/client/errors.ts';
import type { HttpClient } from '../../../harness/client/http.ts';
import { StreamTimeout } from '../../../harness/client/sse.ts';
import type { StopSignal } from '../../../harness/contract/control.ts';
import { boundedProperty } from '../../../harness/runner/bounded-property.ts';
import { checks } from '../../../harness/runner/define.ts';
import type { Capability, CheckContext } from '../../../harness/runner/types.ts';
import type { DeviceContext } from '../../../harness/targets/opened.ts';
import { pacedControl, paceOf } from './pace.ts';
import type { Wait } from './waits.ts';

export type Device = DeviceContext & CheckContext;

/** As much of it as an assertion needs. */
export type Assertions = Pick<CheckContext, 'must'>;

/** Checks whose finding is a warning, by their signal: every copy of a check's context has the same one. */
const lenient = new WeakSet<AbortSignal>();

/** Milliseconds to wait for something of that kind, by what the target has shown of it so far. */
export const timeoutMs = (t: Device, wait: Wait): number =>
  paceOf(t).waits.within(wait, t.patienceMs, lenient.has(t.signal));

/** Something of that kind did not come in time. The check has failed, and later waits for it are short, in other checks as well. */
export const recordTimeout = (t: Device, wait: Wait): void => paceOf(t).waits.timedOut(wait, lenient.has(t.signal));

/** Waits for something of that kind, and remembers how long it took. `attempt` throws when it does not come within the milliseconds. */
export async function waitFor<T>(t: Device, wait: Wait, attempt: (within: number) => Promise<T>): Promise<T> {
  const within = timeoutMs(t, wait);
  const started = performance.now();
  try {
    const result = await attempt(within);
    const ms = performance.now() - started;
    const pace = paceOf(t);
    pace.waits.succeeded(wait, ms);
    if (wait === 'answer' || wait === 'stream') pace.took('answer', ms);
    return result;
  } catch (error) {
    const isLate = error instanceof NoAnswer || error instanceof StreamTimeout;
    // A connection that is closed at once shows nothing about waiting.
    if (isLate && !t.signal.aborted && performance.now() - started >= within) recordTimeout(t, wait);
    throw error;
  }
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
    const t = { ...given, capabilities: usable(given), control: pacedControl(given), property: boundedBy(given) };
    if (requirement.level !== 'MUST') lenient.add(t.signal);
    const useless = options.needs?.find((name) => given.capabilities.has(name) && !t.capabilities.has(name));
    if (useless !== undefined)
      given.notApplicable(`the capability "${useless}" is declared, but control does not give its ${PATHS[useless]}`);
    if (options.sharing === 'exclusive') await paceOf(t).quiet();
    await relocate(t);
    await run(t);
  });

/** Milliseconds in which a smaller counterexample is looked for. */
const SHRINK_MS = 4000;
/** Milliseconds in which new inputs are tried. */
const TRY_MS = 15_000;
const TRY_SLOW_MS = 3000;

/** A few inputs show something too, and a slow target would take minutes for all of them. */
function boundedBy(t: Device): Device['property'] {
  const tryMs = (): number => (paceOf(t).isSlow() ? TRY_SLOW_MS : TRY_MS);
  const onLeftOut = (tried: number): void => t.note(`the target is slow: ${tried} inputs were tried, and no more`);
  return boundedProperty(t.property, { shrinkMs: SHRINK_MS, tryMs, onLeftOut });
}

/** The optional member of control's information without which a capability is of no use. */
const PATHS: { [name in Capability]?: 'event_log' | 'config_root' } = { log: 'event_log', files: 'config_root' };

const usable = ({ capabilities, info }: DeviceContext): ReadonlySet<Capability> =>
  new Set(
    [...capabilities].filter((name) => {
      const path = PATHS[name];
      return path === undefined || info[path] !== undefined;
    }),
  );
