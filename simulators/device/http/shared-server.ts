/** One HTTP server for all devices of the process, so that an idle device holds only its listening socket. */

import type http from 'node:http';
import type { Socket } from 'node:net';
import { getBuiltinModule } from 'node:process';
import { closeAfterUpgrade, type Exchange, isHttp1, isLastWord, lastAnswer, statusOf } from '../../common/malformed.ts';
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

const connections = new WeakMap<Socket, Connection>();
let server: http.Server | undefined;

export function adopt(socket: Socket, handler: RequestHandler, entrance: Entrance): void {
  giveWay();
  connections.set(socket, { handler, entrance, carries: 'answers' });
  const parser = hub();
  // Node's parser reports malformed requests to the socket's `server`.
  Object.assign(socket, { server: parser });
  parser.emit('connection', socket);
}

/** Detaches the socket from Node's parser and request, which take more memory than the stream. */
export function takeOver(request: http.IncomingMessage, response: http.ServerResponse): void {
  const connection = connections.get(request.socket);
  if (connection) connection.carries = 'stream';
  const hasBody = 'content-length' in request.headers || 'transfer-encoding' in request.headers;
  // Marks the request as an upgrade, because Node then releases the socket from its parser.
  if (response.socket !== null && !hasBody) Object.assign(request, { upgrade: true });
}

function hub(): http.Server {
  if (server) return server;
  // Avoids an import, which would load Node's HTTP client and WebSocket too, a third of the agent's start time.
  const { createServer } = getBuiltinModule('node:http');
  const timeouts = { headersTimeout: 15_000, requestTimeout: 60_000, connectionsCheckingInterval: 5_000 };
  server = createServer({ ...timeouts, shouldUpgradeCallback: () => false });
  // Listens only if Node knows the callback, because an older Node would upgrade every request that asks for it.
  if ('shouldUpgradeCallback' in server)
    server.on('upgrade', (_request, upgraded) => {
      const socket = upgraded as Socket;
      connections.get(socket)?.latest?.response.detachSocket(socket);
      connections.delete(socket);
      socket.on('error', () => {});
      socket.once('end', () => socket.end());
      socket.resume();
    });
  server.on('request', (request, response) => {
    const connection = connections.get(request.socket);
    if (connection) connection.latest = { request, response };
    closeAfterUpgrade({ request, response });
    if (!isHttp1(request)) refuse(request.socket, '505 HTTP Version Not Supported');
    // RFC 9112 section 3.2 requires 400 for several Host headers; Node keeps only the first.
    else if (hostsIn(request.rawHeaders) > 1)
      response.writeHead(400, { Connection: 'close', 'Content-Length': 0 }).end();
    else if (connection) connection.handler.handle(request, response, connection.entrance);
    else request.socket.destroy();
  });
  server.on('clientError', (error, socket) => refuse(socket as Socket, statusOf(error)));
  server.on('connect', (_request, socket) => refuse(socket as Socket, '405 Method Not Allowed'));
  // Emits `listening`, which starts Node's timers for slow requests, because this server never listens itself.
  server.emit('listening');
  return server;
}

/** Number of Host headers in `raw`, names and values in turn; `headersDistinct` would build an object per request. */
function hostsIn(raw: readonly string[]): number {
  let hosts = 0;
  for (let at = 0; at < raw.length; at += 2) if (raw[at]?.length === 4 && raw[at]?.toLowerCase() === 'host') hosts += 1;
  return hosts;
}

/** Answers `status` and reads on for a second, because a close with unread bytes would discard the response. */
function refuse(socket: Socket, status: string): void {
  const connection = connections.get(socket);
  if (connection?.carries === 'nothing') return;
  if (connection?.latest !== undefined && isLastWord(connection.latest)) socket.destroySoon();
  else if (connection?.carries !== 'answers' || !socket.writable) socket.destroy();
  else {
    connection.carries = 'nothing';
    socket.end(lastAnswer(status));
    socket.on('error', () => {});
    socket.removeAllListeners('data');
    socket.resume();
    // Milliseconds for which the bytes of a refused client are read and discarded.
    setTimeout(() => socket.destroy(), 1_000).unref();
  }
}
