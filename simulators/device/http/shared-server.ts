/** One HTTP server for all devices of the process, so that an idle device costs one listening socket. */

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
  carries: 'answers' | 'stream' | 'nothing';
  latest?: Exchange;
}

/** Milliseconds in which the server discards further bytes after a malformed request. */
const LINGER_MS = 1_000;

const connections = new WeakMap<Socket, Connection>();
let server: http.Server | undefined;

export function adopt(socket: Socket, handler: RequestHandler, entrance: Entrance): void {
  giveWay();
  connections.set(socket, { handler, entrance, carries: 'answers' });
  const parser = hub();
  // Node reports unparsable requests to the server in this property.
  Object.assign(socket, { server: parser });
  parser.emit('connection', socket);
}

/** Reserves the socket for a stream, and frees parser and request, which take more memory than the stream. */
export function takeOver(request: http.IncomingMessage, response: http.ServerResponse): void {
  const connection = connections.get(request.socket);
  if (connection) connection.carries = 'stream';
  const hasBody = 'content-length' in request.headers || 'transfer-encoding' in request.headers;
  // Node releases a socket from its parser only for an upgrade.
  if (response.socket !== null && !hasBody) Object.assign(request, { upgrade: true });
}

/** Discards later bytes of the client, and ends the stream when the client ends its side. */
function letGo(socket: Socket): void {
  connections.get(socket)?.latest?.response.detachSocket(socket);
  connections.delete(socket);
  socket.on('error', () => {});
  socket.once('end', () => socket.end());
  socket.resume();
}

function hub(): http.Server {
  if (server) return server;
  // An import of node:http also loads its client and WebSocket, a third of the agent's start time.
  const { createServer } = getBuiltinModule('node:http');
  const timeouts = { headersTimeout: 15_000, requestTimeout: 60_000, connectionsCheckingInterval: 5_000 };
  server = createServer({ ...timeouts, shouldUpgradeCallback: () => false });
  // Without `shouldUpgradeCallback`, a listener makes Node upgrade every request that asks for an upgrade.
  if ('shouldUpgradeCallback' in server) server.on('upgrade', (_request, socket) => letGo(socket as Socket));
  server.on('request', (request, response) => {
    const connection = connections.get(request.socket);
    if (connection) connection.latest = { request, response };
    if (!isHttp1(request)) refuse(request.socket, '505 HTTP Version Not Supported');
    // RFC 9112 section 3.2 refuses several Host headers; Node keeps only the first.
    else if (hostsIn(request.rawHeaders) > 1)
      response.writeHead(400, { Connection: 'close', 'Content-Length': 0 }).end();
    else if (connection) connection.handler.handle(request, response, connection.entrance);
    else request.socket.destroy();
  });
  server.on('clientError', (error, socket) => refuse(socket as Socket, statusOf(error)));
  server.on('connect', (_request, socket) => refuse(socket as Socket, '405 Method Not Allowed'));
  // Starts the timers for slow requests, because the server never listens itself.
  server.emit('listening');
  return server;
}

/** `raw` alternates header names and values. */
function hostsIn(raw: readonly string[]): number {
  let hosts = 0;
  for (let at = 0; at < raw.length; at += 2) if (raw[at]?.length === 4 && raw[at]?.toLowerCase() === 'host') hosts += 1;
  return hosts;
}

/** Reads on briefly after the response, because a close with unread bytes discards the response. */
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
