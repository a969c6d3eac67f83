import { readFileSync } from 'node:fs';

/** Whether a process, or the process group of a negative number, exists; a zombie does not count. */
export function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return pid < 0 || !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
