/** Work over the network emulator of Linux, in a kernel that is a process here (User-mode Linux). */
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import type { Network } from '../network.ts';
import type { Work } from './round-trips.ts';

export interface Case {
  network: Network;
  work: Work;
}

const PATH = `${process.env['PATH']}:/usr/sbin:/sbin`;
const placeOf = (program: string): string | undefined =>
  PATH.split(':')
    .map((folder) => join(folder, program))
    .find((path) => existsSync(path));
const missing = ['linux.uml', 'insmod', 'ip', 'tc'].filter((program) => placeOf(program) === undefined);
/** Completes the name of a group of tests. */
export const NO_NETEM = missing.length === 0 ? '' : ` (skipped: no ${missing.join(', ')} here)`;

const INSIDE = new URL('./inside.ts', import.meta.url).pathname;

/** Two namespaces with a cable between them, whose packets are those of Ethernet. The last word ends the kernel. */
const scriptOf = (modules: string, file: string): string => `#!/bin/sh
export PATH='${PATH}'
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
insmod '${modules}/kernel/net/sched/sch_netem.ko'
insmod '${modules}/kernel/drivers/net/veth.ko'
ip netns add near
ip netns add far
ip link add near netns near type veth peer name far netns far
for end in near:1 far:2; do
  ip -n "\${end%:*}" link set "\${end%:*}" up gso_max_segs 1
  ip -n "\${end%:*}" address add "10.0.0.\${end#*:}/30" dev "\${end%:*}"
done
ip netns exec near '${process.execPath}' '${INSIDE}' serve &
sleep 1
ip netns exec far '${process.execPath}' '${INSIDE}' '${file}'
echo o >/proc/sysrq-trigger
sleep 9
`;

/** The round trips of each case, milliseconds, and how many seconds a second of that kernel takes here. */
export async function overNetem(folder: string, cases: readonly Case[]) {
  const [file, init, kernel = ''] = [join(folder, 'cases.json'), join(folder, 'init'), placeOf('linux.uml')];
  const [modules = ''] = globSync(join(kernel, '../../lib/uml/modules/*'));
  const plain = cases.map(({ network, work }) => ({
    work,
    up: wordsOf(network, network.upBits),
    down: wordsOf(network, network.downBits),
  }));
  writeFileSync(file, JSON.stringify({ cases: plain }));
  writeFileSync(init, scriptOf(modules, file), { mode: 0o755 });
  const words = ['rootfstype=hostfs', 'rw', 'mem=512M', `init=${init}`, 'con=null', 'con0=null,fd:1', 'quiet'];
  // It wants its memory where much fits.
  const env = { ...process.env, TMPDIR: existsSync('/dev/shm') ? '/dev/shm' : folder };
  const { stdout } = await promisify(execFile)(kernel, words, { env, timeout: 280_000 });
  if (!existsSync(`${file}.done`)) throw new Error(`no result of the kernel, which said: ${stdout}`);
  const { trips, tookMs } = JSON.parse(readFileSync(`${file}.done`, 'utf8')) as { trips: number[][]; tookMs: number };
  // The clock of the file system is that of this machine.
  return { trips, second: (statSync(`${file}.done`).mtimeMs - statSync(`${file}.begun`).mtimeMs) / tookMs };
}

/** One direction in words of tc. */
const wordsOf = ({ latencyMs, jitterMs, loss }: Network, bits: number): string[] => [
  ...['netem', 'limit', '10000', 'delay', `${latencyMs}ms`],
  ...(jitterMs === 0 ? [] : [`${jitterMs}ms`, 'distribution', 'normal']),
  ...(loss === 0 ? [] : ['loss', `${loss * 100}%`]),
  ...(Number.isFinite(bits) ? ['rate', `${bits}bit`] : []),
];
