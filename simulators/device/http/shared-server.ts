/**
 * One HTTP server for all devices of the process. Each device listens on sockets of its own and hands connections over,
 * so that an idle device costs only a listening socket.
 */

import type http from 'node:http';
import type { Socket } from 'node:net';
import { getBuiltinModule } from 'node:process';
import { type Exchange, isHttp1, isLastWord, lastAnswer, statusOf } from '../../common/malformed.ts';
import { giveWay } from '../stream/reader.ts';
import type { Entrance } from '../transport.ts';

export interface RequestHandler {
  handle(request: http.IncomingMessage, response: http.ServerResponse, entrance: Entrance): void;
}

interface Connection {
  handler: RequestHandler;
  entrance: Entrance;
  /** Content that may follow: answers, the rest of an event stream, or nothing after a refusal. */
  carries: 'answers' | 'stream' | 'nothing';
  latest?: Exchange;
}

/** Milliseconds in which a client may go on sending after a malformed request. */
const LINGER_MS = 1_000;

const connections = new WeakMap<Socket, Connection>();
let server: http.Server | undefined;

export function adopt(socket: Socket, handler: RequestHandler, entrance: Entrance): void {
  giveWay();
  connections.set(socket, { handler, entrance, carries: 'answers' });
  const parser = hub();
  // Names the server to Node, which reports unparsable requests to it.
  Object.assign(socket, { server: parser });
  parser.emit('connection', socket);
}

/**
 * Reserves a request's socket for an event stream. Releases parser, request and response where possible, because they
 * take more memory than the rest of a stream.
 */
export function takeOver(request: http.IncomingMessage, response: http.ServerResponse): void {
  const connection = connections.get(request.socket);
  if (connection) connection.carries = 'stream';
  const hasBody = 'content-length' in request.headers || 'transfer-encoding' in request.headers;
  // Claims an upgrade, the only reason for which Node releases a socket.
  if (response.socket !== null && !hasBody) Object.assign(request, { upgrade: true });
}

/** Drops later bytes of the client; the client's end ends the stream, as in Node. */
function letGo(socket: Socket): void {
  connections.get(socket)?.latest?.response.detachSocket(socket);
  connections.delete(socket);
  socket.on('error', () => {});
  socket.once('end', () => socket.end());
  socket.resume();
}

function hub(): http.Server {
  if (server) return server;
  // Loads no HTTP client or WebSocket, which take a third of an agent's start time with an import.
  const { createServer } = getBuiltinModule('node:http');
  const timeouts = { headersTimeout: 15_000, requestTimeout: 60_000, connectionsCheckingInterval: 5_000 };
  server = createServer({ ...timeouts, shouldUpgradeCallback: () => false });
  // Listens only on versions of Node with this option, because older ones would upgrade each request that asks for it.
  if ('shouldUpgradeCallback' in server) server.on('upgrade', (_request, socket) => letGo(socket as Socket));
  server.on('request', (request, response) => {
    const connection = connections.get(request.socket);
    if (connection) connection.latest = { request, response };
    if (!isHttp1(request)) refuse(request.socket, '505 HTTP Version Not Supported');
    // Refuses several Host headers (RFC 9112 section 3.2): Node keeps the first, another server may use the second.
    else if (hostsIn(request.rawHeaders) > 1)
      response.writeHead(400, { Connection: 'close', 'Content-Length': 0 }).end();
    else if (connection) connection.handler.handle(request, response, connection.entrance);
    else request.socket.destroy();
  });
  server.on('clientError', (error, socket) => refuse(socket as Socket, statusOf(error)));
  server.on('connect', (_request, socket) => refuse(socket as Socket, '405 Method Not Allowed'));
  // Starts the timeouts of slow requests, because this server never listens.
  server.emit('listening');
  return server;
}

/** Number of Host headers in a list where names and values alternate. */
function hostsIn(raw: readonly string[]): number {
  let hosts = 0;
  for (let at = 0; at < raw.length; at += 2) if (raw[at]?.length === 4 && raw[at]?.toLowerCase() === 'host') hosts += 1;
  return hosts;
}

/** Answers with an error and reads on briefly, because closing with unread bytes would discard the answer. */
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
