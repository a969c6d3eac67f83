/** Ctrl-C with a fleet running, as a terminal does it: to every process at once. How long until nothing is left, and is it nothing? */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { baseDirFor } from '../../../simulators/fleet/run/capacity.ts';
import { type Figure, inScratch, KIB } from './figure.ts';
import { untilOnline } from './fleet-command.ts';

const BYTES_EACH = 64 * KIB;

interface Interrupted {
  /** From the interrupt to the end of the last process. */
  ms: number;
  exitCode: number | null;
  /** How many of each were there before the interrupt. */
  before: Left;
  /** And after it. */
  left: Left;
}

interface Left {
  processes: number;
  /** Unix sockets in the fleet's folder. TCP sockets go with their process. */
  sockets: number;
  /** Folders and files for a time; the cache of compiled code that Node keeps there is not one of them. */
  folders: number;
}

/** A minute or two, most of it making keys. */
export async function benchFleetInterrupt(count = 10_000): Promise<Figure[]> {
  return await inScratch(async (stateDir) => {
    const { ms, exitCode, before, left } = await interruptFleet(count, stateDir);
    const nothing = Object.values(left).every((number) => number === 0);
    return [
      {
        name: `muster fleet: Ctrl-C with ${count.toLocaleString('en')} robots running, until all has ended`,
        value: ms / 1000,
        goal: `≤ 5 s and nothing left (left of ${before.processes} processes ${left.processes}, of ${before.sockets} sockets ${left.sockets}, of ${before.folders} folders ${left.folders}; exit code ${exitCode})`,
        unit: 's',
        met: ms <= 5000 && nothing && exitCode === 130,
      },
    ];
  });
}

/** Runs `muster fleet` with its own platform until all robots are online, then interrupts it. Rejects when they never are. */
export async function interruptFleet(robots: number, stateDir: string): Promise<Interrupted> {
  const place = mkdtempSync(join(tmpdir(), 'muster-bench-interrupt-'));
  // In the place where a fleet keeps its files by default, but a folder of its own.
  const temporary = mkdtempSync(join(baseDirFor(robots * BYTES_EACH), 'muster-bench-interrupt-'));
  const seconds = Math.max(2, Math.ceil(robots / 300));
  const scenario = join(place, 'scenario.yaml');
  const options = { scenario, platform: 'embedded', robots: String(robots), state: stateDir, out: join(place, 'out') };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  try {
    writeFileSync(
      scenario,
      `name: interrupt\nkey_bits: 1024\nphases:\n  - { do: ramp, over: ${seconds}s }\n  - { do: hold, for: 1h, ping: 20/s, lists: 5/s }\n`,
    );
    const cli = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
    const child = spawn(process.execPath, [cli, 'fleet', ...args, '--dir', temporary], {
      detached: true, // A process group of its own, as a terminal gives to each command.
      env: { ...process.env, TMPDIR: temporary },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const group = child.pid ?? 0;
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    try {
      await untilOnline(child.stderr, robots, ended);
      const before = leftOf(group, temporary);
      const began = performance.now();
      process.kill(-group, 'SIGINT');
      const exitCode = await ended;
      return { ms: performance.now() - began, exitCode, before, left: leftOf(group, temporary) };
    } finally {
      if (leftOf(group, temporary).processes > 0) process.kill(-group, 'SIGKILL');
    }
  } finally {
    for (const folder of [place, temporary]) rmSync(folder, { recursive: true, force: true });
  }
}

function leftOf(group: number, temporary: string): Left {
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => groupOf(pid) === group).length;
  return {
    processes,
    sockets: readdirSync(temporary, { recursive: true, withFileTypes: true }).filter((entry) => entry.isSocket())
      .length,
    folders: readdirSync(temporary).filter((name) => name.startsWith('muster-')).length,
  };
}

/** The process group; -1 for a process that has ended meanwhile. */
function groupOf(pid: string): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
  } catch {
    return -1;
  }
}
