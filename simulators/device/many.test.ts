/** Many devices in one process: they do not affect each other, and an idle one costs only its listening socket. */
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { simulateDevice } from './index.ts';
import { ask, scratch } from './testing/robot.ts';
import { EventStream } from './testing/stream.ts';

const DEVICES = 300;
const descriptors = () => readdirSync('/proc/self/fd').length;

test('three hundred start, serve, are driven and stop', async () => {
  using home = scratch();
  const before = descriptors();
  const devices = await Promise.all(
    Array.from({ length: DEVICES }, (_, at) =>
      simulateDevice({ dir: `${home.path}/${at}`, socket: `${home.path}/${at}.sock`, durability: 'os', seed: at }),
    ),
  );
  expect(new Set(devices.map(({ identity }) => identity.deviceId)).size).toBe(DEVICES);
  // One descriptor each, for the socket.
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

test('starting and stopping twice has the effect of once', async () => {
  using home = scratch();
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

test.for([{ retain: 0 }, { retain: Number.NaN }, { heartbeatMs: -1 }, { faults: ['nonsense'] }])(
  'invalid options are refused: %j',
  async (options) => {
    using home = scratch();
    await expect(simulateDevice({ dir: home.path, ...options })).rejects.toThrow(RangeError);
  },
);
