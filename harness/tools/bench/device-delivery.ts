/**
 * Live delivery to 1,000 subscribers of one device. The floor writes the same bytes, framed before, to as many raw sockets; the
 * clients of both are in a process of their own that only counts bytes.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import process from 'node:process';
import { setImmediate as turn } from 'node:timers/promises';
import { simulateDevice } from '../../../simulators/device/index.ts';
import { eventLine } from '../../../simulators/device/log/line.ts';
import { chunk, frame } from '../../../simulators/device/stream/protocol.ts';
import { type Figure, inScratch, median, ofFloor } from './figure.ts';

const SUBSCRIBERS = 1_000;
const EVENTS = 300;
const ROUNDS = 5;

export async function delivering(): Promise<Figure[]> {
  return await inScratch(async (directory) => {
    const floors: number[] = [];
    const alone: number[] = [];
    const together: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      floors.push(await rawSockets(`${directory}/raw${round}.sock`));
      alone.push(await oneDevice(`${directory}/a${round}`, 'os', 1));
      together.push(await oneDevice(`${directory}/s${round}`, 'sync', 8));
    }
    const floor = median(floors);
    return [
      ofFloor('SSE frames delivered to 1,000 subscribers, one event at a time', median(alone), floor, 0.9, 'frames/s'),
      ofFloor('the same, each event on the disk first, 8 publishers', median(together), floor, 0.9, 'frames/s'),
    ];
  });
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
  const clients = await Clients.connect(path);
  while (sockets.length < SUBSCRIBERS) await turn();
  const bytes = chunk(Buffer.from(frame(sample())));
  const rate = await clients.measure(bytes.length * EVENTS, async () => {
    for (let at = 0; at < EVENTS; at += 1) {
      for (const socket of sockets) socket.write(bytes);
      await turn();
    }
  });
  await clients.close();
  server.close();
  for (const socket of sockets) socket.destroy();
  return rate;
}

async function oneDevice(directory: string, durability: 'os' | 'sync', publishers: number): Promise<number> {
  const socket = `${directory}.sock`;
  const device = await simulateDevice({ dir: directory, socket, durability, heartbeatMs: 600_000 });
  const clients = await Clients.connect(socket);
  while (device.stats().subscribers < SUBSCRIBERS) await turn();
  await turn();
  // Filler events are all of one length; the first shows how many bytes a client gets for each.
  const before = await clients.settled();
  await device.publish(1);
  const each = (await clients.settled()) - before;
  const rate = await clients.measure(each * EVENTS, async () => {
    const publish = async (): Promise<void> => {
      for (let at = 0; at < EVENTS / publishers; at += 1) await device.publish(1);
    };
    await Promise.all(Array.from({ length: publishers }, publish));
  });
  await clients.close();
  await device[Symbol.asyncDispose]();
  return rate;
}

const sample = () =>
  eventLine(1_000_000, 'deployment.deployed', '2026-01-01T00:00:00.000Z', {
    deployment_id: 'dpl_filler1000000',
    release_id: 'rls_filler1000000',
    status: 'deployed',
    activity_status: 'deployed',
    error_status: 'none',
    target_status: 'deployed',
    deployed_at: '2026-01-01T00:00:00.000Z',
  });

/** The process with the clients, which counts the bytes that all of them have read. */
class Clients {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async connect(path: string): Promise<Clients> {
    const clients = fork(import.meta.filename, [path]);
    await once(clients, 'message');
    return new Clients(clients);
  }

  /** Bytes read by one client on average, once no more have come for a moment. */
  async settled(): Promise<number> {
    this.#child.send({ settle: true });
    const [total] = (await once(this.#child, 'message')) as [number];
    return total / SUBSCRIBERS;
  }

  /** Frames a second, when `write` makes each client read about `bytes` more: until 99 % of all have been read. */
  async measure(bytes: number, write: () => Promise<void>): Promise<number> {
    this.#child.send({ until: Math.floor(bytes * SUBSCRIBERS * 0.99) });
    // Bytes that arrive before the clients know where to begin would be missing at the end.
    await once(this.#child, 'message');
    const read = once(this.#child, 'message');
    const started = performance.now();
    await write();
    await read;
    return (EVENTS * SUBSCRIBERS * 0.99 * 1_000) / (performance.now() - started);
  }

  async close(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.kill();
    await ended;
  }
}

/** In a process of its own: clients of one socket that count what they read. */
async function countBytes(path: string): Promise<void> {
  let total = 0;
  let from = 0;
  let until = Number.POSITIVE_INFINITY;
  const report = (value: number): void => void process.send?.(value);
  const connected = Array.from({ length: SUBSCRIBERS }, () => {
    const socket = net.connect(path);
    socket.write('GET /v0.2/events HTTP/1.1\r\nHost: device\r\n\r\n');
    socket.on('error', () => {});
    socket.on('data', ({ length }) => {
      total += length;
      if (total - from < until) return;
      until = Number.POSITIVE_INFINITY;
      report(total);
    });
    return new Promise((resolve) => socket.once('connect', resolve));
  });
  /** Reports once nothing has come for a while. */
  const settle = (before: number): void => {
    setTimeout(() => (before === total ? report(total) : settle(total)), 200);
  };
  process.on('message', (message: { until?: number; settle?: boolean }) => {
    if (message.until === undefined) return settle(total);
    from = total;
    until = message.until;
    return report(total);
  });
  await Promise.all(connected);
  report(0);
}

if (import.meta.main) await countBytes(process.argv[2] ?? '');
