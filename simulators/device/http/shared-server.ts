/**
 * One HTTP server for all devices of the process. A device listens on its own sockets and hands each connection over,
 * so that an idle device costs a listening socket and nothing else. What is kept here for the whole process belongs to
 * connections.
 */

import type http from 'node:http';
import type { Socket } from 'node:net';
import { getBuiltinModule } from 'node:process';
import { type Exchange, isHttp1, isLastWord, lastAnswer, statusOf } from '../../common/malformed.ts';
import { giveWay } from '../stream/reader.ts';
import type { Entrance } from '../transport.ts';

/** What answers the requests of a connection. */
export interface RequestHandler {
  handle(request: http.IncomingMessage, response: http.ServerResponse, entrance: Entrance): void;
}

interface Connection {
  handler: RequestHandler;
  entrance: Entrance;
  /** What may still be sent on it: answers, the rest of an event stream, or nothing after a refusal. */
  carries: 'answers' | 'stream' | 'nothing';
  latest?: Exchange;
}

/** How long a client may go on sending after a malformed request, before the connection is cut. */
const LINGER_MS = 1_000;

const connections = new WeakMap<Socket, Connection>();
let server: http.Server | undefined;

/** Speaks HTTP on `socket` for `handler`. */
export function adopt(socket: Socket, handler: RequestHandler, entrance: Entrance): void {
  giveWay();
  connections.set(socket, { handler, entrance, carries: 'answers' });
  const parser = hub();
  // Node reports a request that it cannot parse to the `server` of the socket.
  Object.assign(socket, { server: parser });
  parser.emit('connection', socket);
}

/**
 * From now on the socket of this request carries an event stream, and no other answer any more. What spoke HTTP on it
 * is let go where that is possible: parser, request and response take more memory than all else of a stream.
 */
export function takeOver(request: http.IncomingMessage, response: http.ServerResponse): void {
  const connection = connections.get(request.socket);
  if (connection) connection.carries = 'stream';
  const hasBody = 'content-length' in request.headers || 'transfer-encoding' in request.headers;
  // Node hands a socket out in one case only: an upgrade, which it looks for when it has read the request.
  if (response.socket !== null && !hasBody) Object.assign(request, { upgrade: true });
}

/** The client has nothing more to say: its bytes are dropped, and where it ends, so does the stream, as Node has it. */
function letGo(socket: Socket): void {
  connections.get(socket)?.latest?.response.detachSocket(socket);
  connections.delete(socket);
  socket.on('error', () => {});
  socket.once('end', () => socket.end());
  socket.resume();
}

function hub(): http.Server {
  if (server) return server;
  // An import would load the HTTP client and WebSocket of Node as well, a third of the time that an agent takes to
  // start.
  const { createServer } = getBuiltinModule('node:http');
  const timeouts = { headersTimeout: 15_000, requestTimeout: 60_000, connectionsCheckingInterval: 5_000 };
  // A client that asks for an upgrade gets the answer of its request.
  server = createServer({ ...timeouts, shouldUpgradeCallback: () => false });
  // An older Node would see an upgrade in each request that asks for one.
  if ('shouldUpgradeCallback' in server) server.on('upgrade', (_request, socket) => letGo(socket as Socket));
  server.on('request', (request, response) => {
    const connection = connections.get(request.socket);
    if (connection) connection.latest = { request, response };
    if (!isHttp1(request)) refuse(request.socket, '505 HTTP Version Not Supported');
    // RFC 9112, section 3.2. Node keeps the first one, and another server may go by the second.
    else if (hostsIn(request.rawHeaders) > 1)
      response.writeHead(400, { Connection: 'close', 'Content-Length': 0 }).end();
    else if (connection) connection.handler.handle(request, response, connection.entrance);
    else request.socket.destroy();
  });
  server.on('clientError', (error, socket) => refuse(socket as Socket, statusOf(error)));
  server.on('connect', (_request, socket) => refuse(socket as Socket, '405 Method Not Allowed'));
  // This event starts the timeouts for slow requests; the server itself never listens.
  server.emit('listening');
  return server;
}

/** How many Host headers there are; names and values take turns. */
function hostsIn(raw: readonly string[]): number {
  let hosts = 0;
  for (let at = 0; at < raw.length; at += 2) if (raw[at]?.length === 4 && raw[at]?.toLowerCase() === 'host') hosts += 1;
  return hosts;
}

/** Answers with the error, and reads on for a moment: closing with unread bytes would take the answer away. */
function refuse(socket: Socket, status: string): void {
  const connection = connections.get(socket);
  if (connection?.carries === 'nothing') return;
  if (connection?.latest !== undefined && isLastWord(connection.latest)) {
    socket.destroySoon();
    return;
  }
  if (connection?.carries !== 'answers' || !socket.writable) {
    socket.destroy();
    return;
  }
  connection.carries = 'nothing';
  socket.end(lastAnswer(status));
  socket.on('error', () => {});
  socket.removeAllListeners('data');
  socket.resume();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
