/** Measures live delivery of a simulated device, compared with raw sockets. */
import { once } from 'node:events';
import net from 'node:net';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../../../simulators/common/clock.ts';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { chunk, frame } from '../../../simulators/device/behaviour.ts';
import { simulateDevice } from '../../../simulators/device/index.ts';
import { eventLine } from '../../../simulators/device/log/line.ts';
import { fillerEvents } from '../../../simulators/device/state/deployment-store.ts';
import { type Figure, figureAgainstFloor, inTurns, median } from '../measure/figure.ts';
import { serveTask, Task } from '../measure/process.ts';

const SUBSCRIBERS = 1_000;
const EVENTS = 300;
/** Share of the expected bytes to wait for; below 1, because events stored together share the bytes around a chunk. */
const SHARE_COUNTED = 0.97;

export async function benchDevice(): Promise<Figure[]> {
  using home = scratch();
  const { path } = home;
  const { raw, alone, together } = await inTurns(5, {
    raw: (round) => rawSockets(`${path}/raw${round}.sock`),
    alone: (round) => oneDevice(`${path}/a${round}`, 'os', 1),
    together: (round) => oneDevice(`${path}/s${round}`, 'sync', 8),
  });
  const name = 'SSE frames delivered to 1,000 subscribers, one event at a time';
  return [
    figureAgainstFloor(name, median(alone), median(raw), 0.95, 'frames/s'),
    figureAgainstFloor(
      'the same, each event on the disk first, 8 publishers',
      median(together),
      median(raw),
      0.9,
      'frames/s',
    ),
  ];
}

async function rawSockets(path: string): Promise<number> {
  const sockets: net.Socket[] = [];
  const server = net.createServer((socket) => {
    socket.resume();
    socket.on('error', () => {});
    sockets.push(socket);
  });
  server.listen({ path, backlog: 4_096 });
  await once(server, 'listening');
  await using clients = new Task<typeof tasks>(import.meta.url);
  await clients.call('connect', path);
  while (sockets.length < SUBSCRIBERS) await turn();
  const lines = fillerEvents(100, 1, systemClock).map(({ type, data }) =>
    eventLine(101, type, '2026-01-01T00:00:00.000Z', data),
  );
  const bytes = chunk(Buffer.from(lines.map(frame).join('')));
  const rate = await framesPerSecond(clients, bytes.length, async () => {
    for (let at = 0; at < EVENTS; at += 1) {
      for (const socket of sockets) socket.write(bytes);
      await turn();
    }
  });
  server.close();
  for (const socket of sockets) socket.destroy();
  return rate;
}

async function oneDevice(directory: string, durability: 'os' | 'sync', publishers: number): Promise<number> {
  const socket = `${directory}.sock`;
  await using device = await simulateDevice({ dir: directory, socket, durability, heartbeatMs: 600_000 });
  await using clients = new Task<typeof tasks>(import.meta.url);
  await clients.call('connect', socket);
  while (device.stats().subscribers < SUBSCRIBERS) await turn();
  await turn();
  // Events after the first 100 have ids of three digits, and so the same number of bytes.
  await device.publish(100);
  const before = await clients.call('settle');
  await device.publish(1);
  const each = ((await clients.call('settle')) - before) / SUBSCRIBERS;
  return await framesPerSecond(clients, each, async () => {
    const publish = async (): Promise<void> => {
      for (let at = 0; at < EVENTS / publishers; at += 1) await device.publish(1);
    };
    await Promise.all(Array.from({ length: publishers }, publish));
  });
}

async function framesPerSecond(
  clients: Task<typeof tasks>,
  bytes: number,
  write: () => Promise<void>,
): Promise<number> {
  // Begins to count received bytes before the first write.
  await clients.call('expect', Math.floor(bytes * EVENTS * SUBSCRIBERS * SHARE_COUNTED));
  const read = clients.call('read');
  const started = performance.now();
  await write();
  await read;
  return (EVENTS * SUBSCRIBERS * SHARE_COUNTED * 1_000) / (performance.now() - started);
}

let total = 0;
let from = 0;
let until = Number.POSITIVE_INFINITY;
let reached = Promise.withResolvers<void>();

const tasks = {
  connect: async (path: string): Promise<void> => {
    const connected = Array.from({ length: SUBSCRIBERS }, () => {
      const socket = net.connect(path);
      socket.write('GET /v0.2/events HTTP/1.1\r\nHost: device\r\n\r\n');
      socket.on('error', () => {});
      socket.on('data', ({ length }) => {
        total += length;
        if (total - from >= until) reached.resolve();
      });
      return once(socket, 'connect');
    });
    await Promise.all(connected);
  },
  settle: async (): Promise<number> => {
    for (let before = -1; before !== total; await wait(200)) before = total;
    return total;
  },
  expect: (bytes: number): void => {
    from = total;
    until = bytes;
    reached = Promise.withResolvers();
  },
  read: () => reached.promise,
};

if (import.meta.main) serveTask(tasks);
