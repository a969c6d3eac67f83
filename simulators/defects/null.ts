/** Servers that implement nothing of the specification; a MUST check that passes on such a server proves nothing. */

import { rmSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { gzipSync } from 'node:zlib';

/** Unix socket, or port (0 picks a free port) of `host`, by default 127.0.0.1. */
export type Place = { path: string } | { port: number; host?: string };

export interface StandIn extends AsyncDisposable {
  /** Path of the unix socket, or URL of the port. */
  readonly address: string;
  readonly port: number | undefined;
  close(): Promise<void>;
}

/** Rejects with Node's system error (e.g. EADDRINUSE) for an unusable address. */
export async function listenAt(server: net.Server, where: Place): Promise<StandIn> {
  const sockets = new Set<net.Socket>();
  server.on('connection', (socket: net.Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen('path' in where ? { path: where.path } : { host: '127.0.0.1', ...where }, resolve);
  });
  const bound = server.address();
  const port = typeof bound === 'object' && bound ? bound.port : undefined;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= new Promise((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
    return closing.then(() => {
      if ('path' in where) rmSync(where.path, { force: true });
    });
  };
  const address = 'path' in where ? where.path : `http://127.0.0.1:${port}`;
  return { address, port, close, [Symbol.asyncDispose]: close };
}

export const NULL_SERVERS = {
  'hangs-up': 'closes every connection at once',
  'not-found': 'answers everything with 404 and an empty body',
  'empty-object': 'answers everything with 200 and {}',
  'never-answers': 'accepts every connection and never says anything',
  'empty-list': 'answers everything with 200 and an empty list, with or without a key',
  'floods-comments': 'answers everything with an event stream of comments, for ever',
  'floods-block': 'answers everything with an event stream of one block that never ends',
  'nested-json': 'answers everything with 1 MB of nested JSON arrays',
  'endless-body': 'answers everything with a JSON body that never ends',
  'packed-body': 'answers everything with 1 MB that is 1 GB when it is unpacked',
  'endless-head': 'answers everything with header fields, for ever',
  'large-body': 'answers everything with a list of 50 MB',
  'drips-head': 'answers everything with header fields, one byte in a second, for ever',
  'drips-body': 'answers everything with a list, one byte in a second, for ever',
  'two-lengths': 'answers everything with an empty list and two lengths of it',
  'length-and-chunks': 'answers everything with an empty list in chunks that has a length as well',
} as const;
export type NullServerName = keyof typeof NULL_SERVERS;

export const FLOODS: readonly NullServerName[] = [
  'floods-comments',
  'floods-block',
  'nested-json',
  'endless-body',
  'packed-body',
  'endless-head',
  'large-body',
];

/** Servers that send one byte per second, so that every wait of a client takes long. */
export const DRIPS: readonly NullServerName[] = ['drips-head', 'drips-body'];

export const nullServer = (name: NullServerName, where: Place): Promise<StandIn> => listenAt(SERVERS[name](), where);

const answering = (status: number, body: string | Buffer = '', fields = {}): http.Server =>
  http.createServer((request, response) => {
    request.resume();
    response.writeHead(status, body === '' ? {} : { 'Content-Type': 'application/json', ...fields }).end(body);
  });

const flooding = (head: string, piece: string) => (): net.Server => {
  const bytes = Buffer.from(piece.repeat(Math.ceil(65_536 / piece.length)));
  return net.createServer((socket) => {
    const next = (): void => {
      // Yields before the next piece, so that other work in this process can run.
      if (socket.write(bytes)) setImmediate(next);
    };
    socket.on('drain', next);
    socket.once('data', () => {
      socket.write(head);
      next();
    });
  });
};

/** Repeats one gzip member, because compressing a gigabyte takes too long. */
function packed(): http.Server {
  const member = gzipSync(Buffer.alloc(2 ** 23));
  const body = Buffer.concat(Array.from({ length: 128 }, () => member));
  return answering(200, body, { 'Content-Encoding': 'gzip' });
}

function large(): http.Server {
  const item = `{"object":"device","id":"dvc_0","name":"${'x'.repeat(50_000)}"}`;
  const list = `{"object":"list","limit":100,"offset":0,"has_more":false,"data":[${Array(1000).fill(item).join()}]}`;
  return answering(200, list);
}

const dripping = (head: string, piece: string) => (): net.Server =>
  net.createServer((socket) => {
    let sent = 0;
    socket.once('data', () => {
      socket.write(head);
      const drip = setInterval(() => socket.write(piece[sent++ % piece.length] ?? ''), 1000);
      socket.once('close', () => clearInterval(drip));
    });
  });

const saying = (text: string) => (): net.Server =>
  net.createServer((socket) => socket.on('data', () => socket.write(text)));

const EMPTY_LIST = '{"object":"list","limit":10,"offset":0,"has_more":false,"data":[]}';
const framed = (framing: string, body = EMPTY_LIST): string =>
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${framing}\r\n\r\n${body}`;
const LENGTH = `Content-Length: ${EMPTY_LIST.length}`;
const CHUNKS = `${EMPTY_LIST.length.toString(16)}\r\n${EMPTY_LIST}\r\n0\r\n\r\n`;

const head = (type: string): string => `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nConnection: close\r\n\r\n`;
const DEPTH = 500_000;

const SERVERS: Record<NullServerName, () => net.Server> = {
  'hangs-up': () => net.createServer((socket) => socket.destroy()),
  'not-found': () => answering(404),
  'empty-object': () => answering(200, '{}'),
  'never-answers': () => net.createServer((socket) => socket.resume()),
  'empty-list': () => answering(200, EMPTY_LIST),
  'floods-comments': flooding(head('text/event-stream'), ': nothing\n\n'),
  'floods-block': flooding(head('text/event-stream'), 'data: nothing\n'),
  'nested-json': () => answering(200, '['.repeat(DEPTH) + ']'.repeat(DEPTH)),
  'endless-body': flooding(`${head('application/json')}[0`, ',0'),
  'packed-body': packed,
  'endless-head': flooding('HTTP/1.1 200 OK\r\n', 'X-Nothing: nothing\r\n'),
  'large-body': large,
  'drips-head': dripping('HTTP/1.1 200 OK\r\n', 'X-Nothing: nothing\r\n'),
  'drips-body': dripping(`${head('application/json')}[0`, ',0'),
  'two-lengths': saying(framed(`${LENGTH}\r\nContent-Length: 2`)),
  'length-and-chunks': saying(framed(`${LENGTH}\r\nTransfer-Encoding: chunked`, CHUNKS)),
};
