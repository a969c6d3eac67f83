/** The reference device passes the suite. The long tests run it over loopback and beside others. */
import { describe, expect, it } from 'vitest';
import { expectPassesEverything, resultsWith, runDeviceSuite, startDevice } from './testing/run.ts';

describe('the reference device', () => {
  it('passes everything over a unix socket', () => expectPassesEverything('unix'));

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
});
