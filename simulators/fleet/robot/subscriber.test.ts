import { createServer, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { served } from '../../../harness/common/testing/servers.ts';
import { useFolder } from '../../common/testing/scratch.ts';
import { type SseFrame, SseReader, StreamCheck, Subscriber } from './subscriber.ts';

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const frame = (id: number): string => `id: ${id}\nevent: deployment.deployed\ndata: {"id":${id}}\n\n`;

it('the reader of an event stream reads a body without chunks, and refuses a stream other than HTTP', () => {
  const frames: SseFrame[] = [];
  const read = (text: string): void =>
    new SseReader({ head: () => {}, frame: (frame) => frames.push(frame) }).push(Buffer.from(text));
  read(`HTTP/1.1 200 OK\r\n\r\n${frame(1)}`);
  expect(frames).toHaveLength(1);
  expect(() => read('SSH-2.0-x\r\n\r\n')).toThrow(/HTTP\/1\.1/);
  expect(() => read(`${HEAD}zz\r\n`)).toThrow(/size/);
});

const folder = useFolder();

const kept = { earliest: 30, latest: 40 };
type Serve = (socket: Socket, request: string) => void;
const run = async (serve: Serve, last: string, retained: typeof kept | null = kept) => {
  const seen: string[] = [];
  const requests: string[] = [];
  const server = createServer((socket) => {
    socket.once('data', (bytes) => {
      const [line = ''] = bytes.toString().split('\r\n');
      requests.push(line);
      serve(socket, line);
    });
  });
  await served(server, folder('s'));
  const { promise, resolve } = Promise.withResolvers<void>();
  const note = (what: string): void => {
    seen.push(what);
    if (what === last) resolve();
  };
  const subscriber = new Subscriber({
    socketPath: folder('s'),
    cursor: 4,
    onEvent: (id) => note(`event ${id}`),
    onFault: ({ kind, message }) => note(`${kind}: ${message}`),
    onCount: note,
    retained: () => retained ?? undefined,
  });
  subscriber.start();
  await promise;
  subscriber.stop();
  return { seen, requests };
};

it('a subscriber keeps its cursor when the robot is killed after a 410', async () => {
  let answers = 0;
  const serve = (socket: Socket): void => {
    answers += 1;
    socket.end(answers === 1 ? 'HTTP/1.1 410 Gone\r\n\r\n' : HEAD + chunk(frame(5)));
  };
  const { seen, requests: asked } = await run(serve, 'event 5', null);
  expect(seen).toEqual(['expired', 'connected', 'event 5']);
  expect(asked.every((line) => line.includes('after=4 '))).toBe(true);
});

it('a subscriber reconnects with its cursor, and finds events lost in between', async () => {
  const serve = (socket: Socket, request: string): void => {
    if (request.includes('after=4 ')) socket.end(HEAD + chunk(frame(5) + frame(6)));
    else socket.write(HEAD + chunk(frame(8)));
  };
  const { seen, requests: asked } = await run(serve, 'event 8');
  expect(asked).toEqual(['GET /v0.2/events?after=4 HTTP/1.1', 'GET /v0.2/events?after=6 HTTP/1.1']);
  expect(seen).toContain('loss: id 7 lost across a reconnect: after id 6 came id 8');
});

const feed = (check: StreamCheck, stream: (number | '|')[]): string[] =>
  stream.flatMap((id) => {
    if (id === '|') {
      check.connecting();
      return [];
    }
    const { fault } = check.see(id, `event ${id}`);
    return fault === undefined ? [] : [`${fault.kind}: ${fault.message}`];
  });

it.each<[what: string, cursor: number, stream: (number | '|')[], faults: string[]]>([
  ['whole, even when reconnects repeat events', 0, ['|', 1, 2, 3, '|', 3, 4, '|', 5], []],
  ['without one event', 0, ['|', 1, 2, 4], ['gap: id 3 missing within a connection: after id 2 came id 4']],
  ['without some', 10, ['|', 11, 15], ['gap: ids 12 to 14 missing within a connection: after id 11 came id 15']],
  ['cut by a reconnect', 0, ['|', 1, '|', 4], ['loss: ids 2 to 3 lost across a reconnect: after id 1 came id 4']],
  ['cut before it began', 7, ['|', 9], ['loss: id 8 lost across a reconnect: after id 7 came id 9']],
  ['out of order', 0, ['|', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 2], ['reorder: id 2 came after id 11']],
])('a checked stream that is %s reports its faults', (_what, cursor, stream, faults) => {
  expect(feed(new StreamCheck(cursor), stream)).toEqual(faults);
});

it('a checked stream distinguishes a renumbered event from a repeated one', () => {
  const check = new StreamCheck(0);
  feed(check, ['|', 1, 2]);
  check.connecting();
  expect(check.see(2, 'event 2')).toEqual({ fresh: false });
  expect(check.see(2, 'another event')).toMatchObject({
    fault: { kind: 'renumbered', message: expect.stringContaining('id 2') },
  });
});

it('a checked stream finds a refused cursor that could have been served', () => {
  expect(new StreamCheck(40).expired({ earliest: 40, latest: 100 })).toEqual({
    kind: 'loss',
    message: 'the cursor at id 40 was answered 410 although ids 40 to 100 are retained',
  });
  // The specification allows status 410 for a cursor just before the earliest event.
  expect(new StreamCheck(39).expired({ earliest: 40, latest: 100 })).toBeUndefined();
});

it('a checked stream excuses ids that crashes left unused, even two around an unread event, and no others', () => {
  const check = new StreamCheck(10);
  check.mayBeUnused(11, 1034);
  expect(check.finish(1034)).toBeUndefined();
  check.mayBeUnused(1036, 2059);
  expect(feed(check, ['|', 1035, 2060])).toEqual([]);
  expect(feed(check, [2062])).toEqual(['gap: id 2061 missing within a connection: after id 2060 came id 2062']);
});

it('a checked stream reports at the end events that were published and never read', () => {
  const check = new StreamCheck(0);
  feed(check, ['|', 1, 2]);
  expect(check.finish(2)).toBeUndefined();
  expect(check.finish(4)).toEqual({ kind: 'loss', message: 'ids 3 to 4 were published and never read' });
});
