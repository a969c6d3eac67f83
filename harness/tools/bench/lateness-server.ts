/**
 * The platform of the lateness bench, in a process of its own: answers the lists of polling robots and of a hold phase from a constant,
 * and records when each request arrived. Messages: `{port}` when it listens; `'arrivals'` asks for `{arrivals}`, milliseconds in order.
 */
import { createServer, type Socket } from 'node:net';
import process from 'node:process';

/** Requests of the phases; robots ask for other pages. */
const LOAD = Buffer.from('GET /beta/devices?limit=100&offset=');
const END = Buffer.from('\r\n\r\n');
const [stallAt = '-1', stallMs = '0'] = process.argv.slice(2);
const arrivals: number[] = [];
/** Answers that are held back while the server stands still. */
let held: Socket[] | undefined;

const page = (data: object[]): string =>
  JSON.stringify({ object: 'list', data, limit: 100, offset: 0, has_more: false });
const answer = (body: string): Buffer =>
  Buffer.from(
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
const EMPTY = answer(page([]));

function onRequest(socket: Socket, head: Buffer): void {
  if (!head.subarray(0, LOAD.length).equals(LOAD)) {
    const name = /^GET \/beta\/devices\?limit=\d+&name=([\w-]+)/.exec(head.toString('latin1'))?.[1];
    socket.write(name === undefined ? EMPTY : answer(page([{ object: 'device', id: `dvc_${name}`, name }])));
    return;
  }
  arrivals.push(performance.now());
  if (arrivals.length === Number(stallAt)) standStill();
  if (held === undefined) socket.write(EMPTY);
  else held.push(socket);
}

function standStill(): void {
  held = [];
  setTimeout(() => {
    const waiting = held ?? [];
    held = undefined;
    answerSome(waiting, 0);
  }, Number(stallMs));
}

/** A few between two turns of the event loop, so that requests which arrive meanwhile are recorded in time. */
function answerSome(sockets: readonly Socket[], from: number): void {
  for (const socket of sockets.slice(from, from + 32)) socket.write(EMPTY);
  if (from + 32 < sockets.length) setImmediate(answerSome, sockets, from + 32);
}

const server = createServer({ noDelay: true }, (socket) => {
  let rest: Buffer = Buffer.alloc(0);
  socket.on('error', () => {});
  socket.on('data', (bytes: Buffer) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    for (let at = rest.indexOf(END); at >= 0; at = rest.indexOf(END)) {
      onRequest(socket, rest.subarray(0, at));
      rest = rest.subarray(at + END.length);
    }
  });
});
// Connections that come while it stands still are no refusals.
server.listen({ port: 0, host: '127.0.0.1', backlog: 16_384 }, () => {
  process.send?.({ port: (server.address() as { port: number }).port });
});
process.on('message', () => process.send?.({ arrivals }));
process.on('disconnect', () => process.exit());
