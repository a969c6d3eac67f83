import { existsSync, readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { simulateDevice } from './index.ts';
import { ask, EventStream, useScratch } from './testing/robot.ts';

const home = useScratch();

test('devices without options have their own sockets, and remove them even after a kill', async () => {
  const [one, two] = await Promise.all([simulateDevice(), simulateDevice()]);
  expect(one.socketPath).not.toBe(two.socketPath);
  one.kill();
  for (const device of [one, two]) await device[Symbol.asyncDispose]();
  for (const { socketPath } of [one, two]) expect(existsSync(dirname(socketPath ?? ''))).toBe(false);
});

test('a device uses the given socket, and none in a given directory', async () => {
  const socket = `${home.path}/own.sock`;
  await using own = await simulateDevice({ socket });
  expect(own.socketPath).toBe(socket);
  await using device = await simulateDevice({ dir: `${home.path}/robot` });
  expect(device.socketPath).toBeUndefined();
});

const DEVICES = 300;
const descriptors = () => readdirSync('/proc/self/fd').length;

test('three hundred devices start, serve, are driven and stop', async () => {
  const before = descriptors();
  const devices = await Promise.all(
    Array.from({ length: DEVICES }, (_, at) =>
      simulateDevice({ dir: `${home.path}/${at}`, socket: `${home.path}/${at}.sock`, durability: 'os', seed: at }),
    ),
  );
  expect(new Set(devices.map(({ identity }) => identity.deviceId)).size).toBe(DEVICES);
  // Each device holds one descriptor, its listening socket; the test tolerates 5 more in all.
  expect(descriptors() - before).toBeLessThanOrEqual(DEVICES + 5);
  const streams = await Promise.all(devices.map((_, at) => EventStream.open(`${home.path}/${at}.sock`)));
  await Promise.all(devices.map((device, at) => device.deploy({ description: `robot ${at}` })));
  await Promise.all(streams.map((stream) => stream.count(1)));
  const current = await Promise.all(devices.map((_, at) => ask(`${home.path}/${at}.sock`, '/deployments/current')));
  expect(current.map(({ json }) => (json as { description: string }).description)).toEqual(
    devices.map((_, at) => `robot ${at}`),
  );
  await Promise.all(devices.map((device) => device[Symbol.asyncDispose]()));
  await Promise.all(streams.map((stream) => stream.ended));
  expect(readdirSync(home.path).filter((name) => name.endsWith('.sock'))).toEqual([]);
});

test('repeated starts and stops of a device have no further effect', async () => {
  const device = await simulateDevice({ dir: home.path, socket: `${home.path}/s` });
  await Promise.all([device.start(), device.start()]);
  await Promise.all([device.stop(), device.stop(), device[Symbol.asyncDispose]()]);
  await device.stop();
  device.kill();
  await Promise.all([device.start(), device.start()]);
  expect(device.running).toBe(true);
  await device.stop();
  await expect(device.publish(1)).rejects.toThrow(/agent is down/);
  expect(() => device.port).toThrow(/agent is down/);
});

test.for([
  { retain: 0 },
  { retain: Number.NaN },
  { heartbeatMs: -1 },
  // Node's timers overflow after 24 days, which is less than 3e9 ms.
  { heartbeatMs: 3e9 },
  { retryMs: 3e9 },
  { failedMs: 3e9 },
  { faults: ['nonsense'] },
])('invalid options are refused: %j', async (options) => {
  await expect(simulateDevice({ dir: home.path, ...options })).rejects.toThrow(RangeError);
});
