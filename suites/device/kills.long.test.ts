/** A sample of the kill matrix: the whole of it is a command of its own. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { deviceDefect, deviceVariant } from '../../simulators/defects/device/index.ts';
import { referenceBehaviour as right, simulateDevice } from '../../simulators/device/index.ts';
import { judgeDevice, those } from './testing/judge.ts';

async function judge(behaviour: typeof right, transport: 'unix' | 'loopback', only: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'muster-kill-'));
  const place =
    transport === 'unix' ? { socket: join(folder, 'robot.sock') } : { discovery: join(folder, 'discovery.json') };
  const control = join(folder, 'control.sock');
  try {
    await using _device = await simulateDevice({
      dir: join(folder, 'robot'),
      ...('socket' in place ? { socket: place.socket } : { loopback: place }),
      control: { path: control },
      heartbeatMs: 500,
      seed: 3,
      behaviour,
    });
    return await judgeDevice({ ...place, control, only, seed: 3, patienceMs: 4000 });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** One of each kind: what a client sees, what only time shows, what only a restart shows, what only the disk shows. */
const DEFECTS = [
  'status-from-activity',
  'current-is-the-first',
  'failed-stays',
  'frame-without-event',
  'envelope-id-differs',
  'type-with-version',
  'newlines-raw',
  'replay-inclusive',
  'header-wins',
  'types-swallow-replay',
  'seam-gap',
  'malformed-is-expired',
  'boundary-off-by-one',
  'heartbeat-as-event',
  'slow-reader-thinned-out',
  'event-before-files',
  'ids-restart-at-one',
  'stored-after-delivery',
  'torn-line-glued',
  'log-never-compacted',
  'loopback-token-prefix',
] as const;

describe('a wrong device', () => {
  it.for(DEFECTS)('is caught: %s', async (name) => {
    const defect = deviceDefect(name);
    const transport = defect.breaks.some((id) => id.startsWith('device.loopback')) ? 'loopback' : 'unix';
    const report = await judge(defect.behaviour(right), transport, defect.breaks);
    const red = report.checks.filter(({ outcome }) => outcome === 'fail' || outcome === 'warn');
    expect(red.map(({ requirement_id }) => requirement_id)).toEqual(expect.arrayContaining([defect.breaks[0]]));
    for (const { expected, actual } of red) expect([expected, actual]).not.toContain(undefined);
  });
});

/** Those that ask most of the reader and of the checks. */
const VARIANTS = [
  'byte-by-byte',
  'line-ends-cr',
  'ids-with-gaps',
  'replay-without-cursor',
  'other-event-types',
] as const;

const READERS = [
  'device.events.frame',
  'device.events.types',
  'device.events.client',
  'device.events.at-least-once',
  'device.events.replay.seam',
  'device.events.replay.complete',
  'device.events.heartbeat',
  'device.log.restart',
];

describe('a device that differs where it may', () => {
  it.for(VARIANTS)('is not blamed: %s', async (name) => {
    const report = await judge(deviceVariant(name).behaviour(right), 'unix', READERS);
    expect(those(report, 'fail', 'blocked')).toEqual([]);
  });
});
