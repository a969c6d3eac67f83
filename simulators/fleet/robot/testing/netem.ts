/** Work over the network emulator of Linux, in a kernel that is a process here (User-mode Linux). */
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync, statfsSync, statSync, writeFileSync } from 'node:fs';
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
const KERNEL = placeOf('linux.uml') ?? '';
const [MODULES] = globSync(join(KERNEL, '../../lib/uml/modules/*'));
const missing = [
  ...['linux.uml', 'insmod', 'ip', 'tc'].filter((program) => placeOf(program) === undefined),
  ...(KERNEL !== '' && MODULES === undefined ? ['modules of linux.uml'] : []),
];
/** Completes the name of a group of tests. */
export const NO_NETEM = missing.length === 0 ? '' : ` (skipped: no ${missing.join(', ')} here)`;

const INSIDE = new URL('./inside.ts', import.meta.url).pathname;

/** Two namespaces with a cable between them, whose packets are those of Ethernet. The last word ends the kernel. */
const scriptOf = (file: string): string => `#!/bin/sh
export PATH='${PATH}'
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
insmod '${MODULES}/kernel/net/sched/sch_netem.ko'
insmod '${MODULES}/kernel/drivers/net/veth.ko'
ip netns add near
ip netns add far
ip link add near netns near type veth peer name far netns far
for end in near:1 far:2; do
  ip -n "\${end%:*}" link set "\${end%:*}" up gso_max_segs 1
  ip -n "\${end%:*}" address add "10.0.0.\${end#*:}/30" dev "\${end%:*}"
done
ip netns exec near '${process.execPath}' '${INSIDE}' serve '${file}.listening' &
until [ -e '${file}.listening' ]; do sleep 0.1; done
timeout ${MOST_SECONDS} ip netns exec far '${process.execPath}' '${INSIDE}' '${file}'
echo o >/proc/sysrq-trigger
sleep 9
`;

/** It takes two minutes where it has a processor. */
const MOST_SECONDS = 240;

/**
 * The round trips of each case, milliseconds, and how many seconds a second of that kernel takes here. Undefined where
 * it had too little of the machine to come to an end.
 */
export async function overNetem(folder: string, cases: readonly Case[]) {
  const [file, init] = [join(folder, 'cases.json'), join(folder, 'init')];
  const plain = cases.map(({ network, work }) => ({
    work,
    up: wordsOf(network, network.upBits),
    down: wordsOf(network, network.downBits),
  }));
  writeFileSync(file, JSON.stringify({ cases: plain }));
  writeFileSync(init, scriptOf(file), { mode: 0o755 });
  const plan = ['rootfstype=hostfs', 'rw', 'mem=512M', `init=${init}`, `uml_dir=${folder}/`];
  const words = [...plan, 'con=null', 'con0=null,fd:1', 'quiet'];
  const env = { ...process.env, TMPDIR: freeIn('/dev/shm') > MEMORY_BYTES ? '/dev/shm' : folder };
  const { stdout } = await promisify(execFile)(KERNEL, words, { env, timeout: (MOST_SECONDS + 40) * 1000 });
  if (!existsSync(`${file}.begun`)) throw new Error(`the kernel did not begin, and said: ${stdout}`);
  if (!existsSync(`${file}.done`)) return undefined;
  const { trips, tookMs } = JSON.parse(readFileSync(`${file}.done`, 'utf8')) as { trips: number[][]; tookMs: number };
  // The clock of the file system is that of this machine.
  return { trips, second: (statSync(`${file}.done`).mtimeMs - statSync(`${file}.begun`).mtimeMs) / tookMs };
}

/** Its memory is a file, which grows as it is used. */
const MEMORY_BYTES = 512 * 1024 * 1024;
function freeIn(folder: string): number {
  const { bavail = 0, bsize = 0 } = existsSync(folder) ? statfsSync(folder) : {};
  return bavail * bsize;
}

/** One direction in words of tc. */
const wordsOf = ({ latencyMs, jitterMs, loss }: Network, bits: number): string[] => [
  ...['netem', 'limit', '10000', 'delay', `${latencyMs}ms`],
  ...(jitterMs === 0 ? [] : [`${jitterMs}ms`, 'distribution', 'normal']),
  ...(loss === 0 ? [] : ['loss', `${loss * 100}%`]),
  ...(Number.isFinite(bits) ? ['rate', `${bits}bit`] : []),
];
