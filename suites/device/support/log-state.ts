/** What is known of the event log by what control was asked for: which events are newest, and when it last changed. */
import { Fact, type Session } from '../../../harness/runner/session.ts';

interface LogState {
  /**
   * The last event that control published, unless the log was compacted or the agent stopped since: a cursor that is
   * certainly served.
   */
  readonly knownCursor: bigint | undefined;
  /** How often the log was compacted or the agent stopped. */
  readonly changes: number;
  /** The newest event that was known at the last of these changes. */
  readonly changedAt: bigint;
  /** The newest event that control published. */
  readonly newest: bigint | undefined;
  /** How far apart the ids of a batch were, at least; undefined before the first. */
  readonly step: number | undefined;
  /** Events that may have come since the newest: of deployments, and where control did not say. */
  readonly more: number;
  /** Events that control was asked for and has not answered yet. */
  readonly asked: number;
  /** What the last compaction left, unless the log has changed since: the first event and the last. */
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

/** The log is compacted, or the agent stopped: nobody knows what is left. */
export function logMayDiffer({ session }: Driven): void {
  const log = session.get(LOG_STATE);
  const { changes, changedAt, newest = changedAt } = log;
  const unknown = { knownCursor: undefined, left: undefined };
  session.set(LOG_STATE, { ...log, ...unknown, changes: changes + 1, changedAt: newest });
}

/** Control has compacted the log, and these are the first event that is left and the last. */
export function hasCompacted({ session }: Driven, earliest: bigint, latest: bigint): void {
  session.set(LOG_STATE, { ...session.get(LOG_STATE), left: { earliest, latest } });
}

/** `count` events are being published; gives what to call once control has answered, with the first and the last id. */
export function publishes({ session }: Driven, count: number): (first?: bigint, last?: bigint) => void {
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
      // Answers to calls that were made at the same time may come in any order.
      const isNewest = log.newest === undefined || last > log.newest;
      return { asked, knownCursor: last, ...(count > 1 && { step }), ...(isNewest && { newest: last, more: 0 }) };
    });
}

/** Of the deployment, of the one that it replaces, and others that may come with them. */
export const EVENTS_OF_A_DEPLOYMENT = 4;

/** A deployment was made or removed. */
export function mayHaveDeployed({ session }: Driven): void {
  const log = session.get(LOG_STATE);
  session.set(LOG_STATE, { ...log, more: log.more + EVENTS_OF_A_DEPLOYMENT });
}
