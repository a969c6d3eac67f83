import { existsSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { StartError, simulateDevice } from './index.ts';
import { ask, scratch } from './testing/robot.ts';

test('a device without options serves in a temporary folder, which is removed with it', async () => {
  const device = await simulateDevice();
  const socket = device.socketPath ?? '';
  await device.deploy({ config_instances: [{ filepath: '/etc/robot/speed.json', content: '{"max":2}' }] });
  expect((await ask(socket, '/deployments/current')).status).toBe(200);
  expect(existsSync(dirname(socket))).toBe(true);
  await device[Symbol.asyncDispose]();
  expect(existsSync(dirname(socket))).toBe(false);
});

test('two devices without options share nothing, and leave nothing behind after a kill', async () => {
  const [one, two] = await Promise.all([simulateDevice(), simulateDevice()]);
  expect(one.socketPath).not.toBe(two.socketPath);
  one.kill();
  for (const device of [one, two]) await device[Symbol.asyncDispose]();
  for (const { socketPath } of [one, two]) expect(existsSync(dirname(socketPath ?? ''))).toBe(false);
});

test('a socket that is named is used, a directory that is named stays', async () => {
  using home = scratch();
  const socket = `${home.path}/own.sock`;
  {
    await using device = await simulateDevice({ socket });
    expect(device.socketPath).toBe(socket);
  }
  const dir = `${home.path}/robot`;
  {
    await using device = await simulateDevice({ dir });
    expect(device.socketPath).toBeUndefined();
    await device.publish(1);
  }
  expect(existsSync(dir)).toBe(true);
});

test('an address that cannot be used is reported with its option', async () => {
  using home = scratch();
  const file = `${home.path}/file`;
  writeFileSync(file, '');
  await expect(simulateDevice({ dir: file })).rejects.toMatchObject({ option: 'dir' });
  const starting = simulateDevice({ dir: `${home.path}/robot`, socket: file });
  await expect(starting).rejects.toThrow(StartError);
  await expect(starting).rejects.toMatchObject({ option: 'socket', message: expect.stringContaining('not a socket') });
});

test.each(['heartbeatMs', 'retryMs', 'failedMs'])('%s has the limits of a timer', async (option) => {
  await expect(simulateDevice({ [option]: 3e9 })).rejects.toThrow(`${option} must be a number from`);
});
