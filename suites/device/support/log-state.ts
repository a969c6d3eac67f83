/** State of the event log, derived from the calls of control. */
import { Fact, type Session } from '../../../harness/runner/session.ts';

interface LogState {
  /** Newest known id at the last compaction or stop. */
  readonly changedAt: bigint;
  readonly newest: bigint | undefined;
  /** Minimum distance between successive ids, because a device may leave gaps. */
  readonly step: number | undefined;
  /** Maximum number of events of deployments and failed calls after the newest event. */
  readonly more: number;
  readonly asked: number;
  /** First and last id in the log after a compaction; undefined before any, and once the agent is stopped after it. */
  readonly left: { earliest: bigint; latest: bigint } | undefined;
}

export const LOG_STATE = new Fact<LogState>(() => ({
  changedAt: 0n,
  newest: undefined,
  step: undefined,
  more: 0,
  asked: 0,
  left: undefined,
}));

function update(session: Session, changed: (log: LogState) => Partial<LogState>): void {
  const log = session.get(LOG_STATE);
  session.set(LOG_STATE, { ...log, ...changed(log) });
}

export const recordLogChange = (session: Session): void =>
  update(session, ({ changedAt, newest = changedAt }) => ({ left: undefined, changedAt: newest }));

export const recordCompaction = (session: Session, earliest: bigint, latest: bigint): void =>
  update(session, () => ({ left: { earliest, latest } }));

export function recordPublishing(session: Session, count: number): (first?: bigint, last?: bigint) => void {
  update(session, ({ asked }) => ({ asked: asked + count }));
  return (first, last) =>
    update(session, (log) => {
      const asked = log.asked - count;
      if (first === undefined || last === undefined) return { asked, more: log.more + count };
      const step = Math.min(log.step ?? Number.POSITIVE_INFINITY, Math.max(1, Number(last - first) / (count - 1)));
      const isNewest = log.newest === undefined || last > log.newest;
      return { asked, ...(count > 1 && { step }), ...(isNewest && { newest: last, more: 0 }) };
    });
}

/** Maximum number of events of a deployment and of the deployment that it replaces. */
const EVENTS_OF_A_DEPLOYMENT = 4;

export const recordDeployment = (session: Session): void =>
  update(session, ({ more }) => ({ more: more + EVENTS_OF_A_DEPLOYMENT }));
