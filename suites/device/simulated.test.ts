/** The suite against the right device, over both transports: nothing may turn red. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { referenceBehaviour as right, type SimulatedDevice, simulateDevice } from '../../simulators/device/index.ts';
import { judgeDevice, those } from './testing/judge.ts';

let folder: string;
let device: SimulatedDevice | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-suite-'));
});
afterEach(async () => {
  await device?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function start(transport: 'unix' | 'loopback', behaviour = right) {
  const place =
    transport === 'unix' ? { socket: join(folder, 'robot.sock') } : { discovery: join(folder, 'discovery.json') };
  const control = join(folder, 'control.sock');
  device = await simulateDevice({
    dir: join(folder, 'robot'),
    ...('socket' in place ? { socket: place.socket } : { loopback: place }),
    control: { path: control },
    heartbeatMs: 500,
    seed: 3,
    behaviour,
  });
  return { ...place, control };
}

/** What follows events by their ids, and must not take those of others for its own. Without restarts, since the others go on meanwhile. */
const FOLLOWERS = [
  'device.events.replay.exclusive',
  'device.events.replay.live',
  'device.events.replay.seam',
  'device.events.replay.complete.sequences',
  'device.events.types',
  'device.events.at-least-once',
  'device.events.concurrent',
  'device.events.client',
];

describe('the right device', () => {
  it.for(['unix', 'loopback'] as const)('passes everything over %s', async (transport) => {
    const report = await judgeDevice({ ...(await start(transport)), seed: 3 });
    expect(those(report, 'fail', 'warn', 'blocked')).toEqual([]);
    expect(report.exit_code).toBe(0);
    const skipped = report.checks.filter(({ outcome }) => outcome === 'not_applicable').map(({ id }) => id);
    const other = transport === 'unix' ? 'device.loopback.' : 'device.socket.';
    // Beside the other transport, only what depends on how checks happen to overlap, or on the machine.
    const may = [
      'device.deployment.shape',
      'device.deployment.merge',
      'device.socket.permissions',
      'device.loopback.only',
    ];
    const unexpected = skipped.filter((id) => !id.startsWith(other) && !id.endsWith('.retained') && !may.includes(id));
    expect(unexpected).toEqual([]);
  });

  it('is judged as a black box by what it retained, once there is something', async () => {
    const { control: _, ...place } = await start('unix');
    await device?.publish(30);
    await device?.deploy();
    const report = await judgeDevice({ ...place, fast: true });
    expect(those(report, 'fail', 'warn', 'blocked')).toEqual([]);
    const passed = report.checks.filter(({ outcome }) => outcome === 'pass').map(({ id }) => id);
    expect(passed).toEqual(
      expect.arrayContaining([
        'device.deployment.shape',
        'device.deployment.merge',
        'device.events.envelope.retained',
        'device.events.payload.deployed.retained',
        'device.events.replay.complete.retained',
        'device.events.header-cursor.retained',
        'device.events.after-wins.retained',
        'device.events.types.retained',
      ]),
    );
  });

  it('is found by a black box also when the beginning of its log is gone', async () => {
    const { control: _, ...place } = await start('unix');
    await device?.publish(50);
    await device?.compact();
    const report = await judgeDevice({ ...place, fast: true, only: ['device.events.replay.complete.retained'] });
    expect(report.summary).toMatchObject({ pass: 1 });
  });

  it('may have others publish while it is judged', async () => {
    const place = await start('unix');
    const foreign = setInterval(() => {
      if (device?.running === true) device.publish(2).catch(() => {});
    }, 10);
    try {
      const report = await judgeDevice({ ...place, fast: true, only: FOLLOWERS });
      expect(those(report, 'fail', 'warn', 'blocked')).toEqual([]);
    } finally {
      clearInterval(foreign);
    }
  });
});
