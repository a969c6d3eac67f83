/** Processor time of processes, as Linux counts it. */
import { readFileSync } from 'node:fs';

/** Ticks a second of the times in /proc. */
const TICKS = 100;
/** Where user time begins among the fields after the name; system time follows, then both of ended children. */
const OWN = 11;
const OF_CHILDREN = 13;

/** Seconds that a process has taken so far. Throws the system's error when it has ended. */
export const cpuSeconds = (pid: number): number => secondsAt(pid, OWN);

/** Seconds that children of this process, and theirs, took until they ended. */
export const cpuSecondsOfEnded = (): number => secondsAt('self', OF_CHILDREN);

function secondsAt(pid: number | 'self', first: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[first]) + Number(fields[first + 1])) / TICKS;
}
