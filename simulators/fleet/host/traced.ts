/** Roll-outs whose requests carry a trace, so that the traces of a platform go on where the fleet begins them. */
import { createHash } from 'node:crypto';

/** Roll-outs to one robot of so many are traced. `salt`: of the run, from which ids are made. */
export interface TracedRollouts {
  salt: string;
  every: number;
}

/** Which roll-out it is: to a robot, in a phase, when the scenario had been carried out `round` times before. */
export interface TracedRollout {
  phase: number;
  robot: number;
  round?: number;
}

/** The ids of the trace of a roll-out, the same in every process of a run. */
export function traceOf(
  { salt }: TracedRollouts,
  { phase, robot, round = 0 }: TracedRollout,
): { traceId: string; spanId: string } {
  const place = round === 0 ? phase : `${phase}/${round}`;
  const hash = createHash('sha256').update(`${salt}/${place}/${robot}`).digest('hex');
  return { traceId: hash.slice(0, 32), spanId: hash.slice(32, 48) };
}

/** For the POST of a roll-out (W3C Trace Context); undefined where that robot is not traced. */
export function traceparentOf(traced: TracedRollouts | undefined, rollout: TracedRollout): string | undefined {
  if (traced === undefined || rollout.robot % traced.every !== 0) return undefined;
  const { traceId, spanId } = traceOf(traced, rollout);
  return `00-${traceId}-${spanId}-01`;
}
