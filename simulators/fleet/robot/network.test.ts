import { once } from 'node:events';
import https from 'node:https';
import { createServer, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { localhostTls } from '../../../harness/common/testing/localhost-tls.ts';
import { PlatformHttp } from '../../common/platform-http.ts';
import { random } from '../../common/random.ts';
import { closedPort, served } from '../testing/scratch.ts';
import { Lane, Line, type Network, RobotNetwork } from './network.ts';

const PLAIN: Network = {
  latencyMs: 50,
  jitterMs: 0,
  loss: 0,
  upBits: Number.POSITIVE_INFINITY,
  downBits: Number.POSITIVE_INFINITY,
};
const lane = (change: Partial<Network> = {}, bits = Number.POSITIVE_INFINITY) =>
  new Lane({ ...PLAIN, ...change }, new Line(bits), random('lane'));
/** How long portions take that are sent so far apart that none waits for another. */
const delays = (of: Lane, bytes: number, count = 20_000): number[] =>
  Array.from({ length: count }, (_, at) => of.arrival(bytes, at * 10_000) - at * 10_000);
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

describe('one direction', () => {
  it('delays by a normal distribution', () => {
    const seen = delays(lane({ jitterMs: 8 }), 100);
    const average = mean(seen);
    const deviation = Math.sqrt(mean(seen.map((ms) => (ms - average) ** 2)));
    expect(average / 50).toBeCloseTo(1, 1);
    expect(deviation / 8).toBeCloseTo(1, 1);
    const sorted = seen.toSorted((a, b) => a - b);
    // 1.645 deviations.
    expect((sorted[19_000] ?? 0) / (50 + 1.645 * 8)).toBeCloseTo(1, 1);
    expect(Math.min(...delays(lane({ latencyMs: 1, jitterMs: 8 }), 1))).toBe(0);
  });

  it('carries so many bits a second, with 66 bytes of headers in each packet', () => {
    const slow = lane({}, 1_000_000);
    const sent = Array.from({ length: 100 }, () => slow.arrival(1184, 0));
    expect(sent.at(-1)).toBeCloseTo(50 + 1000);
    expect(sent[0]).toBeCloseTo(50 + 10);
  });

  it('sends again what is lost: after a round trip, and after what the system waits where nothing follows', () => {
    const lost = (more: boolean) => {
      const of = lane({ loss: 0.1 });
      return Array.from({ length: 20_000 }, (_, at) => of.arrival(100, at * 10_000, more) - at * 10_000 - 50);
    };
    const late = (seen: readonly number[]) => seen.filter((ms) => ms > 1);
    expect(late(lost(true)).length / 2000).toBeCloseTo(1, 1);
    expect(Math.round(mean(late(lost(true))))).toBe(100);
    expect(Math.round(mean(late(lost(false))))).toBe(300);
    // Of 14 packets, three quarters of the portions lose one, and a tenth the last.
    const many = delays(lane({ loss: 0.1 }), 20_000);
    expect(many.filter((ms) => ms > 51).length / (20_000 * (1 - 0.9 ** 14))).toBeCloseTo(1, 1);
    expect(many.filter((ms) => ms > 151).length / 2000).toBeCloseTo(1, 1);
  });

  it('keeps the order', () => {
    const of = lane({ jitterMs: 40, loss: 0.1 });
    const seen = Array.from({ length: 1000 }, (_, at) => of.arrival(100, at));
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  });

  it('shares its bits with the other connections of the robot', () => {
    const line = new Line(1_000_000);
    const [one, two] = [1, 2].map((seed) => new Lane(PLAIN, line, random(seed))) as [Lane, Lane];
    expect([one.arrival(1184, 0), two.arrival(1184, 0), one.arrival(1184, 0)]).toEqual([60, 70, 80]);
  });

  it('may have as much on its way as fills the line for a round trip', () => {
    expect(lane({ latencyMs: 300 }, 25e6).window).toBe(1_875_000);
    expect(lane({ latencyMs: 1 }, 1e6).window).toBe(256 * 1024);
  });

  it('sends nothing in an outage, and no more than its bits after it', () => {
    const of = lane({ latencyMs: 0, outages: { everyMs: 1000, forMs: 300 } }, 1_000_000);
    const seen = Array.from({ length: 10 }, () => of.arrival(1184, 1100));
    expect(seen.map(Math.round)).toEqual(Array.from({ length: 10 }, (_, at) => 1310 + 10 * at));
  });

  it('lets nothing pass in an outage', () => {
    const of = lane({ outages: { everyMs: 1000, forMs: 300 } });
    const seen = Array.from({ length: 100 }, (_, at) => of.arrival(1, at * 37));
    expect(seen.every((at) => at % 1000 >= 300 || at % 1000 === 0)).toBe(true);
    expect(seen.filter((at) => at % 1000 === 300).length).toBeGreaterThan(3);
  });
});

/** A server that answers each connection with the same bytes again. */
const echo = () => served(createServer({ allowHalfOpen: true }, (socket) => void socket.pipe(socket)));

describe('a connection', () => {
  it('carries TLS', async () => {
    const server = https.createServer(localhostTls, (_request, response) => void response.end('{}'));
    const { port } = await served(server);
    const { dial } = new RobotNetwork({ ...PLAIN, latencyMs: 5 }, random('robot'));
    const http = new PlatformHttp({ baseUrl: new URL(`https://localhost:${port}`), ca: localhostTls.cert, dial });
    const began = performance.now();
    expect(Buffer.from(await http.bytes({ method: 'GET', path: '/', headers: {} })).toString()).toBe('{}');
    // TCP, TLS and the request: three times there and back.
    expect(performance.now() - began).toBeGreaterThan(25);
    const stranger = new PlatformHttp({ baseUrl: new URL(`https://localhost:${port}`), dial });
    await expect(stranger.bytes({ method: 'GET', path: '/', headers: {} })).rejects.toThrow(/self-signed/);
    await Promise.all([http.close(), stranger.close()]);
  });

  it('brings every byte there and back, in order, and never sooner than the network does', async () => {
    const { port } = await echo();
    const network = { ...PLAIN, latencyMs: 20, jitterMs: 5, loss: 0.01, upBits: 40e6, downBits: 40e6 };
    const began = performance.now();
    const socket: Socket = new RobotNetwork(network, random('robot')).dial({ host: '127.0.0.1', port });
    const bytes = Buffer.from(Uint8Array.from({ length: 500_000 }, (_, at) => (at * 31) % 251));
    socket.end(bytes);
    await once(socket, 'connect');
    // One way each, less what the jitter may save.
    expect(performance.now() - began).toBeGreaterThan(15);
    expect((await buffer(socket)).equals(bytes)).toBe(true);
    // 100 ms for the bits, and four times one way.
    expect(performance.now() - began).toBeGreaterThan(150);
  });

  it('waits with a reader that waits', async () => {
    const { port } = await echo();
    const socket = new RobotNetwork({ ...PLAIN, latencyMs: 1 }, random('robot')).dial({ host: '127.0.0.1', port });
    const bytes = Buffer.alloc(8_000_000, 'x');
    socket.end(bytes);
    await once(socket, 'readable');
    expect((await buffer(socket)).length).toBe(bytes.length);
  });

  it('ends with an error where nobody listens', async () => {
    const socket = new RobotNetwork(PLAIN, random('robot')).dial({ host: '127.0.0.1', port: await closedPort() });
    const [error] = (await once(socket, 'error').catch((thrown: unknown) => [thrown])) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ECONNREFUSED');
    expect(socket.destroyed).toBe(true);
  });

  it('sends what was written before its end, also when it is destroyed as soon as it has ended', async () => {
    const got: Buffer[] = [];
    const server = createServer((socket) => void socket.on('data', (bytes) => got.push(bytes as Buffer)));
    const { port } = await served(server);
    const socket = new RobotNetwork(PLAIN, random('robot')).dial({ host: '127.0.0.1', port });
    await once(socket, 'connect');
    socket.write('goodbye');
    socket.destroySoon();
    await once(socket, 'close');
    await new Promise((resolve) => server.close(resolve));
    expect(Buffer.concat(got).toString()).toBe('goodbye');
  });

  it('is cut at once by its own side', async () => {
    const { port } = await echo();
    const socket = new RobotNetwork(PLAIN, random('robot')).dial({ host: '127.0.0.1', port });
    await once(socket, 'connect');
    socket.write('x');
    socket.destroy();
    await once(socket, 'close');
    expect(socket.bytesRead).toBe(0);
  });
});
