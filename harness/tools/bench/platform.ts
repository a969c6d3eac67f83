/** Lists of a platform with a million devices, beside a bare server that answers with bodies of the same size. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import process from 'node:process';
import { simulatePlatform } from '../../../simulators/platform/index.ts';
import { NEWEST_VERSION } from '../../contract/versions.ts';
import { atMost, type Figure, inTurns, ofFloor, timesFloor } from '../measure/figure.ts';
import { serveTask, Task } from '../measure/process.ts';

interface Request {
  port: number;
  path: string;
  headers?: Record<string, string>;
}

const DEVICES = 1_000_000;
const KEY = 'bench-key';
const ROUNDS = 20;
const ROUND_MS = 200;
const CONNECTIONS = 16;
const HEAD_END = Buffer.from('\r\n\r\n');
const LENGTH = Buffer.from('ontent-length: ');

export async function benchPlatform(devices = DEVICES): Promise<Figure[]> {
  await using platform = new Task<typeof tasks>(import.meta.url);
  await using bare = new Task<typeof tasks>(import.meta.url);
  const { port, startMs } = await platform.call('platform', devices);
  const headers = { 'x-api-key': KEY, 'service-version': NEWEST_VERSION };
  const page = (query: string) => ({ port, path: `/beta/devices${query}`, headers });
  const pages = {
    first: page('?limit=10&offset=0'),
    last: page(`?limit=10&offset=${devices - 10}`),
    filtered: page(`?limit=10&offset=${Math.floor(devices * 0.8)}&status=offline`),
    combined: page(`?limit=10&offset=${Math.floor(devices * 0.1)}&status=offline&agent_version=v0.9.0|v0.10.0`),
  };
  const bytes: number[] = [];
  for (const [name, request] of Object.entries(pages)) {
    const { status, body } = await sample(request);
    if (status !== 200 || JSON.parse(body).data.length !== 10) throw new Error(`the ${name} page is not one of ten`);
    bytes.push(body.length);
  }
  const floor = await bare.call('floor', bytes[0] ?? 0);
  const requests = {
    floor: [{ ...pages.first, port: floor }],
    first: [pages.first],
    last: [pages.last],
    filtered: [pages.filtered],
    combined: [pages.combined],
    anywhere: scattered(devices).map((offset) => page(`?limit=10&offset=${offset}`)),
  };
  const measures = Object.entries(requests).map(([name, list]) => [name, () => requestsPerSecond(list)]);
  const taken: Record<string, number[]> = await inTurns(1 + ROUNDS, Object.fromEntries(measures));
  /** The best, but for the first, in which code is compiled: whatever else the machine does only slows it. */
  const best = (name: keyof typeof requests): number => Math.max(...(taken[name]?.slice(1) ?? []));
  const rss = (await platform.call('memory')) / 1e6;
  /** Cost of a request is the inverse of its rate. */
  const cost = (what: string, name: keyof typeof requests, times: number): Figure =>
    timesFloor(`platform: ${what} against the first`, 1e6 / best(name), 1e6 / best('first'), times, 'µs');
  return [
    ofFloor('platform: a page of 10 of 1,000,000 devices', best('first'), best('floor'), 0.7, 'requests/s'),
    ofFloor('platform: pages of 10 scattered over all', best('anywhere'), best('floor'), 0.3, 'requests/s'),
    cost('the last page', 'last', 1.5),
    cost('a filtered page far out', 'filtered', 3),
    cost('a page under two filters', 'combined', 3),
    atMost('platform: memory with 1,000,000 devices', rss, 1000, 'MB'),
    atMost('platform: seeding 1,000,000 devices', startMs / 1000, 60, 's'),
  ];
}

/** Offsets all over the list, many more than are asked for in a round: most rows are rendered for the first time. */
function scattered(devices: number): number[] {
  const offsets: number[] = [];
  for (let offset = 0; offset + 10 <= devices; offset += 10) offsets.push(offset);
  // 7,919 is prime: neighbours are never asked for one after the other, and none is left out.
  return offsets.map((_, index) => offsets[(index * 7919) % offsets.length] ?? 0);
}

/** Servers, each in a process of its own: Muster's platform, or one that answers every request with that many bytes. */
const tasks = {
  platform: async (devices: number): Promise<{ port: number; startMs: number }> => {
    const start = performance.now();
    const keys = [{ key: KEY, scopes: 'all' as const }];
    const { url } = await simulatePlatform({ devices, seed: 1, mqtt: false, keys });
    return { port: Number(new URL(url).port), startMs: performance.now() - start };
  },
  floor: async (bytes: number): Promise<number> => {
    const body = 'x'.repeat(bytes);
    const headers = { 'content-type': 'application/json', 'content-length': bytes };
    const server = createServer((_request, response) => response.writeHead(200, headers).end(body));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return (server.address() as AddressInfo).port;
  },
  memory: (): number => process.memoryUsage().rss,
};

function bytesOf({ path, headers = {} }: Request): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}\r\n`);
}

/** One request after the other on one connection: raw sockets, so that the generator costs less than any server. */
class Lane {
  readonly #socket: Socket;
  #chunks: Buffer[] = [];
  #received = 0;
  #expected = Number.POSITIVE_INFINITY;
  #settle: { resolve(answer: Buffer): void; reject(error: Error): void } | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', (error) => this.#settle?.reject(error));
    socket.on('close', () => this.#settle?.reject(new Error('the server closed the connection')));
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
  }

  static open(port: number): Promise<Lane> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, noDelay: true }, () => {
        socket.off('error', reject);
        resolve(new Lane(socket));
      });
      socket.once('error', reject);
    });
  }

  request(bytes: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#socket.write(bytes);
    });
  }

  close(): void {
    this.#settle = undefined;
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#received += chunk.length;
    if (this.#expected === Number.POSITIVE_INFINITY) {
      const whole = Buffer.concat(this.#chunks);
      const end = whole.indexOf(HEAD_END);
      if (end === -1) return;
      const at = whole.indexOf(LENGTH) + LENGTH.length;
      this.#expected = end + HEAD_END.length + Number.parseInt(whole.toString('latin1', at, at + 12), 10);
    }
    if (this.#received < this.#expected) return;
    const answer = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#received = 0;
    this.#expected = Number.POSITIVE_INFINITY;
    this.#settle?.resolve(answer);
  }
}

async function sample(request: Request): Promise<{ status: number; body: string }> {
  const lane = await Lane.open(request.port);
  const answer = await lane.request(bytesOf(request)).finally(() => lane.close());
  const body = answer.subarray(answer.indexOf(HEAD_END) + HEAD_END.length).toString();
  return { status: Number(answer.toString('latin1', 9, 12)), body };
}

/** Goes through the requests, again from the first after the last, on several connections. */
async function requestsPerSecond(requests: readonly Request[]): Promise<number> {
  const encoded = requests.map(bytesOf);
  const lanes = await Promise.all(Array.from({ length: CONNECTIONS }, () => Lane.open(requests[0]?.port ?? 0)));
  let next = 0;
  let answered = 0;
  const start = performance.now();
  const end = start + ROUND_MS;
  const run = async (lane: Lane) => {
    while (performance.now() < end) {
      await lane.request(encoded[next++ % encoded.length] as Buffer);
      answered += 1;
    }
  };
  await Promise.all(lanes.map(run)).finally(() => {
    for (const lane of lanes) lane.close();
  });
  return (answered * 1000) / (performance.now() - start);
}

if (import.meta.main) serveTask(tasks);
