/** Memory and processor time of processes of this machine, as its system counts them. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/**
 * PSS: pages that processes share count once, in parts. RSS: they count in each process, so a sum over processes says too much. Neither
 * has what the kernel keeps for sockets and files.
 */
export const MEMORY_KINDS = ['PSS', 'RSS'] as const;
export type MemoryKind = (typeof MEMORY_KINDS)[number];

/** What a process holds now, and has taken since its start. */
export interface Usage {
  bytes: number;
  kind: MemoryKind;
  /** Processor time of user and system, seconds. */
  cpuSeconds: number;
}

/** By pid. A process that has ended is left out, and so is every process where the system does not say. */
export async function usageOf(pids: readonly number[]): Promise<Map<number, Usage>> {
  const found = process.platform === 'linux' ? await Promise.all(pids.map(fromProc)) : await fromPs(pids);
  return new Map(pids.flatMap((pid, at) => (found[at] === undefined ? [] : [[pid, found[at]] as const])));
}

/** Ticks a second of the times in /proc, on every architecture that Node runs on. */
const TICKS = 100;
/** Where user time stands among the fields after the name; system time follows. */
const USER_TIME = 11;

/** Read beside the event loop: the kernel walks every page of the process, which takes milliseconds for a large one. */
async function fromProc(pid: number): Promise<Usage | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The name is in parentheses, and may hold some.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const cpuSeconds = (Number(fields[USER_TIME]) + Number(fields[USER_TIME + 1])) / TICKS;
    const pss = kibibytes(await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => ''), 'Pss');
    if (pss !== undefined) return { bytes: pss * 1024, kind: 'PSS', cpuSeconds };
    const rss = kibibytes(await readFile(`/proc/${pid}/status`, 'utf8'), 'VmRSS');
    return rss === undefined ? undefined : { bytes: rss * 1024, kind: 'RSS', cpuSeconds };
  } catch {
    return undefined;
  }
}

function kibibytes(text: string, name: string): number | undefined {
  const [, value] = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text) ?? [];
  return value === undefined ? undefined : Number(value);
}

/** Of POSIX systems without /proc, e.g. macOS. */
export async function fromPs(pids: readonly number[]): Promise<(Usage | undefined)[]> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'pid=,rss=,time=', '-p', pids.join(',')]).catch(() => ({
    stdout: '',
  }));
  const rows = stdout.split('\n').map((line) => line.trim().split(/\s+/));
  return pids.map((pid) => {
    const [, rss = '', time = ''] = rows.find(([of]) => Number(of) === pid) ?? [];
    return rss === '' ? undefined : { bytes: Number(rss) * 1024, kind: 'RSS', cpuSeconds: secondsOf(time) };
  });
}

/** `1-02:03:04`, `02:03:04` or `3:04.56`. */
function secondsOf(time: string): number {
  const [clock = '', days = '0'] = time.split('-').toReversed();
  return clock.split(':').reduce((sum, part) => sum * 60 + Number(part), Number(days) * 24);
}
