/**
 * One HTTP parser for every device in the process. A device listens on sockets of its own and hands each connection over,
 * so that an idle device costs a listening socket and nothing else.
 */
import http from 'node:http';
import type { Socket } from 'node:net';
import { errorCode } from '../log/io.ts';
import type { Entrance } from '../transport/transport.ts';

export interface RequestHandler {
  handle(request: http.IncomingMessage, response: http.ServerResponse, entrance: Entrance): void;
}

interface Owner {
  handler: RequestHandler;
  entrance: Entrance;
  /** What can still be said on this connection: answers, the rest of an event stream, or nothing after a refusal. */
  says: 'answers' | 'stream' | 'nothing';
}

/** How long a client that sent nonsense may go on sending before the connection is cut. */
const LINGER_MS = 1_000;

const owners = new WeakMap<Socket, Owner>();
let server: http.Server | undefined;

/** Speaks HTTP on `socket` for `handler`. */
export function adopt(socket: Socket, handler: RequestHandler, entrance: Entrance): void {
  owners.set(socket, { handler, entrance, says: 'answers' });
  const parser = hub();
  // It reports what it cannot parse to the server that the socket says it belongs to.
  Object.assign(socket, { server: parser });
  parser.emit('connection', socket);
}

/** From now on the socket carries an event stream, and no other answer. */
export function takeOver(socket: Socket): void {
  const owner = owners.get(socket);
  if (owner) owner.says = 'stream';
}

function hub(): http.Server {
  if (server) return server;
  server = http.createServer({ headersTimeout: 15_000, requestTimeout: 60_000, connectionsCheckingInterval: 5_000 });
  server.on('request', (request, response) => {
    const owner = owners.get(request.socket);
    if (owner) owner.handler.handle(request, response, owner.entrance);
    else request.socket.destroy();
  });
  server.on('clientError', (error, socket) => refuseNonsense(error, socket as Socket));
  server.on('connect', (_request, socket) => {
    refuseNonsense(Object.assign(new Error('CONNECT'), { status: '405 Method Not Allowed' }), socket as Socket);
  });
  // The time-outs for slow requests begin with this event, and this server never listens itself.
  server.emit('listening');
  return server;
}

/** Says what is wrong, and reads on for a moment: closing at once would take the answer away with what was not read. */
function refuseNonsense(error: Error & { status?: string }, socket: Socket): void {
  const owner = owners.get(socket);
  if (owner?.says === 'nothing') return;
  if (owner?.says !== 'answers' || !socket.writable) {
    socket.destroy();
    return;
  }
  owner.says = 'nothing';
  const status = error.status ?? STATUS[errorCode(error) ?? ''] ?? '400 Bad Request';
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  socket.on('error', () => {});
  socket.removeAllListeners('data');
  socket.resume();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

const STATUS: Record<string, string> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};
