/** The reference device passes the suite, over both transports. */
import { describe, expect, it } from 'vitest';
import { resultsWith, runDeviceSuite, startDevice } from './testing/run.ts';

/** Checks that follow events by their ids, and must not take other events for their own. Without restarts, since other events go on. */
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

describe('the reference device', () => {
  it.for(['unix', 'loopback'] as const)('passes everything over %s', async (transport) => {
    await using started = await startDevice(transport);
    const report = await runDeviceSuite({ ...started.address, control: started.control });
    expect(resultsWith(report, 'fail', 'warn', 'blocked')).toEqual([]);
    expect(report.exit_code).toBe(0);
    const skipped = report.checks.filter(({ outcome }) => outcome === 'not_applicable').map(({ id }) => id);
    const other = transport === 'unix' ? 'device.loopback.' : 'device.socket.';
    // Besides the other transport, only checks that depend on how checks overlap, or on the machine.
    const may = [
      'device.deployment.shape',
      'device.deployment.merge',
      'device.socket.permissions',
      'device.loopback.only',
    ];
    const unexpected = skipped.filter((id) => !id.startsWith(other) && !id.endsWith('.retained') && !may.includes(id));
    expect(unexpected).toEqual([]);
  });

  it('passes as a black box by the events that it retained', async () => {
    await using started = await startDevice('unix');
    const { device, address } = started;
    await device.publish(30);
    await device.deploy();
    const report = await runDeviceSuite({ ...address, fast: true });
    expect(resultsWith(report, 'fail', 'warn', 'blocked')).toEqual([]);
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

  it('passes as a black box also when the beginning of its log is gone', async () => {
    await using started = await startDevice('unix');
    const { device, address } = started;
    await device.publish(50);
    await device.compact();
    const report = await runDeviceSuite({ ...address, fast: true, only: ['device.events.replay.complete.retained'] });
    expect(report.summary).toMatchObject({ pass: 1 });
  });

  it('passes while others publish events', async () => {
    await using started = await startDevice('unix');
    const { device, address, control } = started;
    const foreign = setInterval(() => {
      if (device.running) device.publish(2).catch(() => {});
    }, 10);
    try {
      const report = await runDeviceSuite({ ...address, control, fast: true, only: FOLLOWERS });
      expect(resultsWith(report, 'fail', 'warn', 'blocked')).toEqual([]);
    } finally {
      clearInterval(foreign);
    }
  });
});
