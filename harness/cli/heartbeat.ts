/** Option `--heartbeat` of commands that simulate a device. */
import { duration } from '../../simulators/device/faults.ts';
import { UsageError } from '../common/usage.ts';

/** Milliseconds, a day: timers take little more. */
const LONGEST_MS = 86_400_000;

/** Milliseconds. Throws UsageError. */
export function heartbeatOf(text: string): number {
  const ms = duration(text);
  if (ms !== undefined && ms >= 1 && ms <= LONGEST_MS) return ms;
  throw new UsageError(`--heartbeat ${text}: must be a duration from 1ms to 1d, e.g. 500ms, 30s, 2m`);
}
