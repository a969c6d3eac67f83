/** Roll-outs whose requests carry a trace, so that the traces of a platform go on where the fleet begins them. */
import { createHash } from 'node:crypto';

/** Roll-outs to one robot of so many are traced. `salt`: of the run, from which ids are made. */
export interface TracedRollouts {
  salt: string;
  every: number;
}

/** The ids of the trace of a roll-out, the same in every process of a run. */
export function traceOf({ salt }: TracedRollouts, phase: number, robot: number): { traceId: string; spanId: string } {
  const hash = createHash('sha256').update(`${salt}/${phase}/${robot}`).digest('hex');
  return { traceId: hash.slice(0, 32), spanId: hash.slice(32, 48) };
}

/** For the POST of a roll-out (W3C Trace Context); undefined where that robot is not traced. */
export function traceparentOf(traced: TracedRollouts | undefined, phase: number, robot: number): string | undefined {
  if (traced === undefined || robot % traced.every !== 0) return undefined;
  const { traceId, spanId } = traceOf(traced, phase, robot);
  return `00-${traceId}-${spanId}-01`;
}
