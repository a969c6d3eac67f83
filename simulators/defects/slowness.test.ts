import net from 'node:net';
import { expect, test } from 'vitest';
import { eventually } from '../common/testing/scratch.ts';
import { referenceBehaviour } from '../device/index.ts';
import { robot } from '../device/testing/robot.ts';
import { deviceVariant } from './device/index.ts';
import { warmUp } from './slowness.ts';

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

test('a device sends heads, bodies and events byte by byte', async () => {
  const { behaviour } = deviceVariant('byte-by-byte');
  await using on = await robot({ behaviour: behaviour(referenceBehaviour) });
  await on.device.publish(2);
  const pieces: string[] = [];
  const socket = net.connect(on.socket, () => socket.write(get('/v0.2/health') + get('/v0.2/events?after=0')));
  socket.on('data', (piece) => pieces.push(piece.toString('latin1')));
  const expected = /{"status":"ok"}HTTP\/1\.1 200 OK[\s\S]*id: 1\nevent: [\s\S]*id: 2\n[\s\S]*\n\n/;
  await eventually(() => expect(pieces.join('')).toMatch(expected));
  socket.destroy();
  // A busy machine joins some bytes into one read.
  expect(pieces.length).toBeGreaterThan(pieces.join('').length / 2);
});

test('a pause between events applies to stored and live events, and loses none', async () => {
  const eventPauseMs = 60;
  const behaviour = { ...referenceBehaviour, stream: { ...referenceBehaviour.stream, eventPauseMs } };
  await using on = await robot({ behaviour });
  await on.device.publish(3);
  const stream = await on.listen('?after=0');
  const begun = performance.now();
  await stream.reach(1);
  await on.device.publish(3);
  await stream.reach(6);
  expect(performance.now() - begun).toBeGreaterThan(4 * eventPauseMs);
  expect(stream.ids).toEqual([1, 2, 3, 4, 5, 6]);
});

test('a slow answer comes after its delay', async () => {
  const { behaviour } = deviceVariant('slow-answers');
  await using on = await robot({ behaviour: behaviour(referenceBehaviour) });
  const begun = performance.now();
  expect((await on.ask('/health')).status).toBe(200);
  expect(performance.now() - begun).toBeGreaterThan(290);
});

test('a server delays answers while it warms up, and stops delaying afterwards', async () => {
  const delayMs = warmUp(50);
  // The delay is a difference of two fractional times.
  expect(delayMs()).toBeCloseTo(50);
  await eventually(() => expect(delayMs()).toBe(0));
});
