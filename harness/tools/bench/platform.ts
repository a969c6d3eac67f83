/** Measures lists of a platform with a million devices, compared with a bare server that sends as many bytes. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { simulatePlatform } from '../../../simulators/platform/index.ts';
import { NEWEST_VERSION } from '../../contract/versions.ts';
import { atMost, type Figure, figureAgainstFloor, inTurns, timesFloor } from '../measure/figure.ts';
import { listenAnywhere, serveTask, Task } from '../measure/process.ts';

interface Request {
  port: number;
  path: string;
  headers?: Record<string, string>;
}

const DEVICES = 1_000_000;
const KEY = 'bench-key';
const HEAD_END = Buffer.from('\r\n\r\n');
const LENGTH = Buffer.from('ontent-length: ');

export async function benchPlatform(): Promise<Figure[]> {
  await using platform = new Task<typeof tasks>(import.meta.url);
  await using bare = new Task<typeof tasks>(import.meta.url);
  const { port, startMs } = await platform.call('platform');
  await using rows = new Task<typeof tasks>(import.meta.url);
  // Without the command sqlite3 there is no floor, and the goal counts as missed.
  const imported = await rows.call('importing').catch(() => Number.NaN);
  const headers = { 'x-api-key': KEY, 'service-version': NEWEST_VERSION };
  const page = (query: string) => ({ port, path: `/beta/devices${query}`, headers });
  const pages = {
    first: page('?limit=10&offset=0'),
    last: page(`?limit=10&offset=${DEVICES - 10}`),
    filtered: page(`?limit=10&offset=${Math.floor(DEVICES * 0.8)}&status=offline`),
    combined: page(`?limit=10&offset=${Math.floor(DEVICES * 0.1)}&status=offline&agent_version=v0.9.0|v0.10.0`),
  };
  const bytes: number[] = [];
  for (const [name, request] of Object.entries(pages)) {
    const answer = await fetch(`http://127.0.0.1:${port}${request.path}`, { headers });
    const body = await answer.text();
    if (!answer.ok || JSON.parse(body).data.length !== 10) throw new Error(`the ${name} page is not one of ten`);
    bytes.push(body.length);
  }
  const floor = await bare.call('floor', bytes[0] ?? 0);
  const requests = {
    floor: [{ ...pages.first, port: floor }],
    first: [pages.first],
    last: [pages.last],
    filtered: [pages.filtered],
    combined: [pages.combined],
    anywhere: SCATTERED.map((offset) => page(`?limit=10&offset=${offset}`)),
  };
  const measures = Object.entries(requests).map(([name, list]) => [name, () => requestsPerSecond(list)]);
  const taken: Record<string, number[]> = await inTurns(21, Object.fromEntries(measures));
  /** Best round after the first, in which Node still compiles code. */
  const best = (name: keyof typeof requests): number => Math.max(...(taken[name]?.slice(1) ?? []));
  const rss = (await platform.call('memory')) / 1e6;
  const cost = (what: string, name: keyof typeof requests, times: number): Figure =>
    timesFloor(`platform: ${what} against the first`, 1e6 / best(name), 1e6 / best('first'), times, 'µs');
  return [
    figureAgainstFloor('platform: a page of 10 of 1,000,000 devices', best('first'), best('floor'), 0.8, 'requests/s'),
    figureAgainstFloor('platform: pages of 10 scattered over all', best('anywhere'), best('floor'), 0.7, 'requests/s'),
    cost('the last page', 'last', 1.5),
    cost('a filtered page far out', 'filtered', 3),
    cost('a page under two filters', 'combined', 3),
    atMost('platform: memory with 1,000,000 devices', rss, 300, 'MB'),
    timesFloor('platform: seeding 1,000,000 devices, floor sqlite3 .import', startMs / 1000, imported, 2, 's'),
  ];
}

const PAGES = DEVICES / 10;
/** Offsets of all pages in steps of a prime, so that consecutive requests ask for distant pages. */
const SCATTERED = Array.from({ length: PAGES }, (_, index) => 10 * ((index * 7919) % PAGES));

const tasks = {
  platform: async (): Promise<{ port: number; startMs: number }> => {
    const start = performance.now();
    const keys = [{ key: KEY, scopes: 'all' as const }];
    const { url } = await simulatePlatform({ devices: DEVICES, seed: 1, mqtt: false, keys });
    return { port: Number(new URL(url).port), startMs: performance.now() - start };
  },
  floor: async (bytes: number): Promise<number> => {
    const body = 'x'.repeat(bytes);
    const headers = { 'content-type': 'application/json', 'content-length': bytes };
    return await listenAnywhere(createServer((_request, response) => response.writeHead(200, headers).end(body)));
  },
  /** Seconds in which the command sqlite3 imports the same rows, with their indexes, into memory. */
  importing: async (): Promise<number> => {
    using home = scratch();
    const [db, rows] = [join(home.path, 'db'), join(home.path, 'rows.csv')];
    await (await simulatePlatform({ devices: DEVICES, seed: 1, mqtt: false, db })).stop();
    const sqlite = (...words: string[]): string => execFileSync('sqlite3', words, { encoding: 'utf8' });
    // Leaves out the index `devices_key`, because an import turns null into '', of which a unique index takes only one.
    const schema = sqlite(
      db,
      "SELECT sql || ';' FROM sqlite_schema WHERE tbl_name = 'devices' AND name <> 'devices_key'",
    );
    sqlite(db, '.mode csv', `.output ${rows}`, 'SELECT * FROM devices');
    const start = performance.now();
    sqlite(':memory:', schema, '.mode csv', `.import ${rows} devices`);
    return (performance.now() - start) / 1000;
  },
  memory: (): number => process.memoryUsage().rss,
};

/** Opens a raw socket, which costs less processor time than an HTTP client. */
async function openLane(port: number) {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  await once(socket, 'connect');
  let answered = Promise.withResolvers<void>();
  let received = 0;
  let expected: number | undefined;
  socket.on('error', (error) => answered.reject(error));
  socket.on('close', () => answered.reject(new Error('the server closed the connection')));
  socket.on('data', (bytes: Buffer) => {
    received += bytes.length;
    // Both servers send the whole head in the first packet.
    if (expected === undefined) {
      const at = bytes.indexOf(LENGTH) + LENGTH.length;
      const head = bytes.indexOf(HEAD_END) + HEAD_END.length;
      expected = head + Number.parseInt(bytes.toString('latin1', at, at + 12), 10);
    }
    if (received < expected) return;
    received = 0;
    expected = undefined;
    answered.resolve();
  });
  return {
    request: (bytes: Buffer): Promise<void> => {
      answered = Promise.withResolvers();
      socket.write(bytes);
      return answered.promise;
    },
    close: (): void => {
      answered.promise.catch(() => {});
      socket.destroy();
    },
  };
}

async function requestsPerSecond(requests: readonly Request[]): Promise<number> {
  const encoded = requests.map(({ path, headers = {} }) => {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    return Buffer.from(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}\r\n`);
  });
  const lanes = await Promise.all(Array.from({ length: 16 }, () => openLane(requests[0]?.port ?? 0)));
  let next = 0;
  let answered = 0;
  const start = performance.now();
  const end = start + 200;
  const run = async (lane: Awaited<ReturnType<typeof openLane>>) => {
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
