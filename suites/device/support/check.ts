import { NoAnswer } from '../../../harness/client/errors.ts';
import { StreamTimeout } from '../../../harness/client/sse.ts';
import type { ControlCompacted, StopSignal } from '../../../harness/contract/control.ts';
import { type Measure, TELLING_BATCH } from '../../../harness/runner/session.ts';
import type { CheckContext } from '../../../harness/runner/types.ts';
import type { Control, Exact } from '../../../harness/targets/control/control.ts';
import { layered } from '../../../harness/targets/control/layers.ts';
import type { DeviceContext } from '../../../harness/targets/opened.ts';
import { recordCompaction, recordDeployment, recordLogChange, recordPublishing } from './log-state.ts';

export type Device = DeviceContext & CheckContext;

export type Assertions = Pick<CheckContext, 'must'>;

/**
 * Kinds of waits with separate timeouts. `stream`: response headers; `state`, `files`, `deployed`:
 * state, files and event of a deployment; `odd`: answer to a malformed request.
 */
export type WaitKind = 'answer' | 'stream' | 'event' | 'replay' | 'state' | 'files' | 'deployed' | 'odd';

/** Half the patience for `files`, because their removal should have begun: the deployment is inactive by then. */
export const timeoutMs = ({ session, patienceMs, lenient }: Device, kind: WaitKind): number =>
  session.waits.device.within(kind, kind === 'files' ? patienceMs / 2 : patienceMs, lenient);

export const recordSuccess = ({ session }: Device, kind: WaitKind, ms: number): void =>
  session.waits.device.succeeded(kind, ms);

/** Shortens later waits of this kind in all checks. */
export const recordTimeout = ({ session, lenient }: Device, kind: WaitKind): void =>
  session.waits.device.timedOut(kind, lenient);

/** Records the duration or timeout of `attempt`; `isMeant` tells whether a result counts. */
export async function inTime<T>(
  t: Device,
  kind: WaitKind,
  attempt: (within: number) => Promise<T>,
  isMeant: (result: T) => boolean = () => true,
): Promise<T> {
  const within = timeoutMs(t, kind);
  const started = performance.now();
  try {
    const result = await attempt(within);
    const ms = performance.now() - started;
    if (isMeant(result)) recordSuccess(t, kind, ms);
    if (kind === 'answer' || kind === 'stream') t.session.took('answer', ms);
    return result;
  } catch (error) {
    const isLate = error instanceof NoAnswer || error instanceof StreamTimeout;
    if (isLate && !t.signal.aborted && performance.now() - started >= within) recordTimeout(t, kind);
    throw error;
  }
}

export const ignoring =
  (...kinds: readonly (abstract new (...given: never[]) => Error)[]) =>
  (error: unknown): undefined => {
    if (!kinds.some((kind) => error instanceof kind)) throw error;
  };

export async function restart(
  t: Device,
  signal: StopSignal = 'SIGTERM',
  whileDown?: () => Promise<void>,
): Promise<void> {
  await t.control.stop(signal);
  try {
    await whileDown?.();
  } finally {
    await t.control.start();
  }
}

/** Compacts the log; `earliest` exceeds `latest` if the log is empty. */
export async function compact(t: Device): Promise<{ earliest: bigint; latest: bigint }> {
  const { earliest_id, latest_id } = await t.control.compact();
  return { earliest: BigInt(earliest_id), latest: BigInt(latest_id) };
}

export function pacedControl(t: Pick<Device, 'control' | 'session' | 'runTimeLeftMs' | 'blocked' | 'saw'>): Control {
  const { control, session, runTimeLeftMs, blocked } = t;
  let stopping = 0;
  const afford = (what: Measure, count = 1): void => {
    const reason = session.whyTooMuch(what, count, runTimeLeftMs());
    if (reason !== undefined) blocked(reason);
  };
  const timed = async <T>(what: Measure, count: number, call: () => Promise<T>): Promise<T> => {
    afford(what, count);
    const started = performance.now();
    const result = await call();
    session.took(what, (performance.now() - started) / Math.max(1, count), count);
    return result;
  };
  const publishAll = (count: number, signal: AbortSignal | undefined): ReturnType<Control['publish']> =>
    timed('publish', count, async () => {
      const answered = recordPublishing(session, count);
      const range = await control.publish(count, signal).catch((error: unknown) => {
        answered();
        throw error;
      });
      answered(BigInt(range.first_id), BigInt(range.last_id));
      return range;
    });
  // Measures a small batch before it refuses a large one, because single events may be slow by chance.
  const publish = async (count: number, signal: AbortSignal | undefined): ReturnType<Control['publish']> => {
    const isKnown = count <= TELLING_BATCH || session.knowsBatches;
    const isSplit = !isKnown && session.whyTooMuch('publish', count, runTimeLeftMs()) !== undefined;
    const { first_id } = isSplit ? await publishAll(TELLING_BATCH, signal) : { first_id: undefined };
    const rest = await publishAll(isSplit ? count - TELLING_BATCH : count, signal);
    return { first_id: first_id ?? rest.first_id, last_id: rest.last_id };
  };
  return layered(control, {
    call: async (call, signal) => {
      if (call.name === 'publish') return publish(call.count, signal);
      if (call.name === 'deploy' || call.name === 'remove') recordDeployment(session);
      if (call.name === 'deploy') return timed('deployment', 1, () => control.call(call, signal));
      if (call.name === 'stop') afford('restart');
      if (call.name === 'compact' || call.name === 'stop') recordLogChange(session);
      const started = performance.now();
      const answer = await control.call(call, signal);
      const ms = performance.now() - started;
      if (call.name === 'stop') stopping = ms;
      if (call.name === 'start') session.took('restart', stopping + ms);
      if (call.name !== 'compact') return answer;
      const { earliest_id, latest_id } = answer as Exact<ControlCompacted>;
      t.saw('compactions');
      recordCompaction(session, BigInt(earliest_id), BigInt(latest_id));
      return answer;
    },
  });
}

/* Premises: ids of plainer checks that must pass before a check runs, so that one bug fails one check. */

export const PREFIX = ['device.version.prefix'];

export const SERVED = ['device.socket.no-token', 'device.loopback.discovery'];

export const STREAM = ['device.events.content-type.any'];

/** Retained events are readable and have distinct ids; needs no control. */
export const RETAINED = ['device.events.monotonic.retained'];

/** Retained events replay the same each time; needs no control. */
export const RETAINED_REPLAY = ['device.events.replay.exclusive.retained'];

/** New events are readable and have distinct ids. */
export const EVENTS = ['device.events.monotonic'];

/** A replay holds exactly the events after its cursor. */
export const REPLAY = ['device.events.replay.exclusive'];

/** A replay continues with live events without loss. */
export const LIVE = ['device.events.replay.seam'];

/** New events have right envelopes and types, by which a check finds the events of a deployment. */
export const DEPLOYMENT_EVENTS = [...LIVE, 'device.events.envelope', 'device.events.type-form'];

export const CURRENT_SHOWN = ['device.deployment.current'];
