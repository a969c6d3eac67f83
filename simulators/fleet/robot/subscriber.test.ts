import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type SseFrame, SseReader } from './sse-reader.ts';
import { Subscriber } from './subscriber.ts';

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const frame = (id: number): string => `id: ${id}\nevent: deployment.deployed\ndata: {"id":${id}}\n\n`;

describe('the reader of an event stream', () => {
  const read = (pieces: Buffer[]): { status: number; frames: SseFrame[]; comments: number; ended: boolean } => {
    const seen = { status: 0, frames: [] as SseFrame[], comments: 0 };
    const reader = new SseReader({
      head: (status) => {
        seen.status = status;
      },
      frame: (of) => seen.frames.push(of),
      comment: () => {
        seen.comments += 1;
      },
    });
    for (const piece of pieces) reader.push(piece);
    return { ...seen, ended: reader.ended };
  };
  const answer = Buffer.from(
    `${HEAD}${chunk(': heartbeat\n\n')}${chunk('id: 1\r\nevent: a.b\r\ndata: {"text":"é\u2028😀"}\r\n\r\nid: 2\n')}${chunk('data:x\ndata: y\n\n')}0\r\n\r\n`,
  );
  const expected = {
    status: 200,
    comments: 1,
    ended: true,
    frames: [
      { id: '1', event: 'a.b', data: '{"text":"é\u2028😀"}' },
      { id: '2', event: undefined, data: 'x\ny' },
    ],
  };

  it('reads head, chunks and frames', () => {
    expect(read([answer])).toEqual(expected);
  });

  it('reads the same frames however the bytes are split', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(answer.length), { maxLength: 12 }), (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), answer.length];
        const pieces = at.slice(1).map((end, index) => answer.subarray(at[index], end));
        expect(read(pieces)).toEqual(expected);
      }),
    );
  });

  it('reads a body without chunks', () => {
    expect(read([Buffer.from(`HTTP/1.1 200 OK\r\n\r\n${frame(1)}`)]).frames).toHaveLength(1);
  });

  it('refuses what is not HTTP', () => {
    expect(() => read([Buffer.from('SSH-2.0-x\r\n\r\n')])).toThrow(/HTTP\/1\.1/);
    expect(() => read([Buffer.from(`${HEAD}zz\r\n`)])).toThrow(/size/);
  });
});

describe('a subscriber', () => {
  let dir: string;
  let server: Server;
  let requests: string[];
  let serve: (socket: Socket, request: string) => void;
  const sockets = new Set<Socket>();

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'muster-sub-'));
    requests = [];
    server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.once('data', (bytes) => {
        requests.push(bytes.toString().split('\r\n')[0] ?? '');
        serve(socket, requests.at(-1) ?? '');
      });
    }).listen(join(dir, 's'));
    await once(server, 'listening');
  });

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    rmSync(dir, { recursive: true, force: true });
  });

  /** Runs until `enough` says so. */
  const run = async (enough: (seen: string[]) => boolean): Promise<{ seen: string[]; requests: string[] }> => {
    const seen: string[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const note = (what: string): void => {
      seen.push(what);
      if (enough(seen)) resolve();
    };
    const subscriber = new Subscriber({
      socketPath: join(dir, 's'),
      cursor: 4,
      onEvent: (id) => note(`event ${id}`),
      onFault: ({ kind, message }) => note(`${kind}: ${message}`),
      onCount: note,
      retained: () => ({ earliest: 30, latest: 40 }),
    });
    subscriber.start();
    await promise;
    subscriber.stop();
    return { seen, requests };
  };

  it('reports a gap in the stream with its ids', async () => {
    serve = (socket) => socket.write(HEAD + chunk(frame(5) + frame(8)));
    const { seen } = await run((of) => of.includes('event 8'));
    expect(seen).toEqual([
      'connected',
      'event 5',
      'gap: ids 6 to 7 missing within a connection: after id 5 came id 8',
      'event 8',
    ]);
  });

  it('reconnects with its cursor, and finds events that were lost in between', async () => {
    serve = (socket, request) => {
      if (request.includes('after=4 ')) socket.end(HEAD + chunk(frame(5) + frame(6)));
      else socket.write(HEAD + chunk(frame(8)));
    };
    const { seen, requests: asked } = await run((of) => of.includes('event 8'));
    expect(asked).toEqual(['GET /v0.2/events?after=4 HTTP/1.1', 'GET /v0.2/events?after=6 HTTP/1.1']);
    expect(seen).toContain('loss: id 7 lost across a reconnect: after id 6 came id 8');
  });

  it('continues with the newest event after a 410', async () => {
    serve = (socket, request) => {
      if (request.includes('after=4 ')) socket.end('HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n');
      else socket.write(HEAD + chunk(frame(41)));
    };
    const { seen } = await run((of) => of.includes('event 41'));
    expect(seen).toEqual(['expired', 'connected', 'event 41']);
  });
});
