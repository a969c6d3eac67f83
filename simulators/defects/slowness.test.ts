import net from 'node:net';
import { describe, expect, test } from 'vitest';
import { poll } from '../../harness/common/waiting.ts';
import { referenceBehaviour } from '../device/index.ts';
import { robot } from '../device/testing/robot.ts';
import { deviceVariant } from './device/index.ts';
import { warmUp } from './slowness.ts';

function readPieces(
  address: net.NetConnectOpts,
  request: string,
  enough: (text: string) => boolean,
): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const pieces: string[] = [];
    const socket = net.connect(address, () => socket.write(request));
    socket.on('data', (piece) => {
      pieces.push(piece.toString('latin1'));
      if (enough(pieces.join(''))) socket.destroy();
    });
    socket.once('error', reject);
    socket.once('close', () => resolve(pieces));
  });
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
/** Tolerates some joined bytes, because a busy machine reads several bytes at once. */
const mostlyAlone = (pieces: readonly string[]): boolean => pieces.length > pieces.join('').length / 2;

describe('byte by byte', () => {
  test('a device sends heads, bodies and events', async () => {
    const { behaviour } = deviceVariant('byte-by-byte');
    await using on = await robot({ behaviour: behaviour(referenceBehaviour) });
    await on.device.publish(2);
    const request = get('/v0.2/health') + get('/v0.2/events?after=0');
    const pieces = await readPieces({ path: on.socket }, request, (text) => /id: 2\n[\s\S]*\n\n/.test(text));
    expect(mostlyAlone(pieces)).toBe(true);
    expect(pieces.join('')).toMatch(/{"status":"ok"}HTTP\/1\.1 200 OK[\s\S]*id: 1\nevent: [\s\S]*id: 2\n/);
  });
});

test('a pause between events holds for stored and for live ones, and every event comes', async () => {
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

test('a server that has warmed up answers at once', async () => {
  const delayMs = warmUp(50);
  // Compares approximately, because the delay is a difference of two fractional times.
  expect(delayMs()).toBeCloseTo(50);
  await poll('the server to warm up', () => (delayMs() === 0 ? true : undefined), { timeoutMs: 10_000 });
});
