import { expect, test } from 'vitest';
import { ask } from '../device/testing/robot.ts';
import { defects, simulateDevice, simulatePlatform, variants } from '../index.ts';

test('a device has the defect named in its options', async () => {
  await using device = await simulateDevice({ defect: 'deployment-wrapped' });
  await device.deploy();
  const { json } = await ask(device.socketPath ?? '', '/deployments/current');
  expect(json).not.toHaveProperty('object');
});

test.each([{ variant: 'removed-without-payload' }, { defect: 'type-underscore' }])(
  'a device with %o publishes no event twice after a restart',
  async (planted) => {
    await using device = await simulateDevice(planted);
    for (let round = 0; round < 3; round += 1) await device.deploy();
    const { latestId } = device.stats();
    await device.stop();
    await device.start();
    expect(device.stats().latestId).toBe(latestId);
  },
);

test('a platform has the variant named in its options', async () => {
  await using platform = await simulatePlatform({ variant: 'unauthorized-403', mqtt: false });
  expect((await fetch(`${platform.url}/devices`)).status).toBe(403);
});

test('an unknown name is refused with the known names', async () => {
  await expect(simulateDevice({ defect: 'replay' })).rejects.toThrow(
    /^no defect of the device is called "replay"; known: .*replay-inclusive/,
  );
  await expect(simulatePlatform({ defect: ['order-unstable', 'x'] })).rejects.toThrow(RangeError);
  await expect(simulateDevice({ variant: ['retains-1', 'retains-2'] })).rejects.toMatchObject({
    code: 'MUSTER_CONFLICT',
    message: expect.stringContaining('retains-1 and retains-2'),
  });
});

test('defects and variants are listed with their names, summaries and broken requirements', async () => {
  const [found] = (await defects('device')).filter(({ name }) => name === 'replay-inclusive');
  expect(found).toEqual({
    name: 'replay-inclusive',
    summary: 'Replays the event of the cursor as well.',
    breaks: ['device.events.replay.exclusive'],
  });
  expect((await variants('platform')).every(({ breaks }) => breaks.length === 0)).toBe(true);
  expect((await defects('platform')).length).toBeGreaterThan(100);
});
