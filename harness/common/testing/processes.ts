import { readFileSync } from 'node:fs';

/** True if a process exists and is no zombie; for a negative `pid`, if the process group exists, even of zombies. */
export function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return pid < 0 || !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
