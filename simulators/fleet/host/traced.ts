/** Roll-outs that carry a trace, so that the platform's traces continue the fleet's. */
import { createHash } from 'node:crypto';

/** Traces roll-outs to one robot in `every`. `salt`: of the run; ids derive from it. */
export interface TracedRollouts {
  salt: string;
  every: number;
}

/** `round`: earlier passes of the scenario. */
export interface TracedRollout {
  phase: number;
  robot: number;
  round?: number;
}

/** Trace ids of a roll-out, equal in every process of a run. */
export function traceOf(
  { salt }: TracedRollouts,
  { phase, robot, round = 0 }: TracedRollout,
): { traceId: string; spanId: string } {
  const place = round === 0 ? phase : `${phase}/${round}`;
  const hash = createHash('sha256').update(`${salt}/${place}/${robot}`).digest('hex');
  return { traceId: hash.slice(0, 32), spanId: hash.slice(32, 48) };
}

/** Header of the POST (W3C Trace Context); undefined if the robot is not traced. */
export function traceparentOf(traced: TracedRollouts | undefined, rollout: TracedRollout): string | undefined {
  if (traced === undefined || rollout.robot % traced.every !== 0) return undefined;
  const { traceId, spanId } = traceOf(traced, rollout);
  return `00-${traceId}-${spanId}-01`;
}
