/** What ten thousand idle devices in one process cost, against bare listening sockets; each in a fresh process. */
import { execFile } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inScratch } from './device-scratch.ts';
import type { Figure } from './figure.ts';

export const DEVICES = 10_000;
const GOAL_BYTES = 16_384;
const GOAL_MS = 3_000;

interface Cost {
  /** Resident, heap and external memory each beyond the first ones. */
  bytes: number;
  startMs: number;
}

export async function idling(): Promise<Figure[]> {
  // Nothing is removed before both are measured: ext4 is slow to make files for minutes after it removed thousands.
  const [device, bare] = await inScratch(
    async (one) => [await cost('devices', one), await inScratch((other) => cost('sockets', other))] as const,
  );
  return [
    {
      name: 'memory of an idle device',
      value: device.bytes,
      floor: bare.bytes,
      ratio: device.bytes / bare.bytes,
      goal: `≤ ${GOAL_BYTES}`,
      unit: 'bytes',
      met: device.bytes <= GOAL_BYTES,
    },
    {
      name: `start of ${DEVICES.toLocaleString('en')} devices`,
      value: device.startMs,
      floor: bare.startMs,
      ratio: device.startMs / bare.startMs,
      goal: `≤ ${GOAL_MS}`,
      unit: 'ms',
      met: device.startMs <= GOAL_MS,
    },
  ];
}

async function cost(what: 'sockets' | 'devices', directory: string): Promise<Cost> {
  const script = fileURLToPath(new URL('./device-idle-process.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--expose-gc',
    script,
    what,
    directory,
    String(DEVICES),
  ]);
  return JSON.parse(stdout) as Cost;
}
