/** State of the event log by the calls of control: its newest events, and its changes. */
import { Fact, type Session } from '../../../harness/runner/session.ts';

interface LogState {
  /** Last published event, certainly served as a cursor; undefined after a compaction or a stop. */
  readonly knownCursor: bigint | undefined;
  /** Number of compactions and stops. */
  readonly changes: number;
  /** Newest event known at the last compaction or stop. */
  readonly changedAt: bigint;
  /** Newest event that control published. */
  readonly newest: bigint | undefined;
  /** Smallest distance between ids of a batch; undefined before the first. */
  readonly step: number | undefined;
  /** Number of events that may follow the newest: of deployments, and of failed calls. */
  readonly more: number;
  /** Number of events that control has yet to answer for. */
  readonly asked: number;
  /** First and last event left by a compaction; undefined once the log may have changed again. */
  readonly left: { earliest: bigint; latest: bigint } | undefined;
}

export const LOG_STATE = new Fact<LogState>(() => ({
  knownCursor: undefined,
  changes: 0,
  changedAt: 0n,
  newest: undefined,
  step: undefined,
  more: 0,
  asked: 0,
  left: undefined,
}));

interface Driven {
  readonly session: Session;
}

/** Records a compaction or a stop, after which the content of the log is unknown. */
export function recordLogChange({ session }: Driven): void {
  const log = session.get(LOG_STATE);
  const { changes, changedAt, newest = changedAt } = log;
  const unknown = { knownCursor: undefined, left: undefined };
  session.set(LOG_STATE, { ...log, ...unknown, changes: changes + 1, changedAt: newest });
}

export function recordCompaction({ session }: Driven, earliest: bigint, latest: bigint): void {
  session.set(LOG_STATE, { ...session.get(LOG_STATE), left: { earliest, latest } });
}

/** Records events under way. Call the result with their ids once control has answered. */
export function recordPublishing({ session }: Driven, count: number): (first?: bigint, last?: bigint) => void {
  const change = (changed: (log: LogState) => Partial<LogState>): void => {
    const log = session.get(LOG_STATE);
    session.set(LOG_STATE, { ...log, ...changed(log) });
  };
  change(({ asked }) => ({ asked: asked + count }));
  return (first, last) =>
    change((log) => {
      const asked = log.asked - count;
      if (first === undefined || last === undefined) return { asked, more: log.more + count };
      const step = Math.min(log.step ?? Number.POSITIVE_INFINITY, Math.max(1, Number(last - first) / (count - 1)));
      // Keeps the highest id, because answers to simultaneous calls may come in any order.
      const isNewest = log.newest === undefined || last > log.newest;
      return { asked, knownCursor: last, ...(count > 1 && { step }), ...(isNewest && { newest: last, more: 0 }) };
    });
}

/** Events of a deployment and of the one that it replaces, and others that may come with them. */
export const EVENTS_OF_A_DEPLOYMENT = 4;

export function recordDeployment({ session }: Driven): void {
  const log = session.get(LOG_STATE);
  session.set(LOG_STATE, { ...log, more: log.more + EVENTS_OF_A_DEPLOYMENT });
}
