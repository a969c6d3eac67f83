/**
 * One HTTP parser for every device in the process. A device listens on sockets of its own and hands each connection over,
 * so that an idle device costs a listening socket and nothing else.
 */
import http from 'node:http';
import type { Socket } from 'node:net';

export type Transport = 'unix' | 'loopback';

export interface RequestHandler {
  handle(request: http.IncomingMessage, response: http.ServerResponse, transport: Transport): void;
}

interface Owner {
  handler: RequestHandler;
  transport: Transport;
}

const owners = new WeakMap<Socket, Owner>();
let server: http.Server | undefined;

/** Speaks HTTP on `socket` for `handler`. */
export function adopt(socket: Socket, handler: RequestHandler, transport: Transport): void {
  owners.set(socket, { handler, transport });
  hub().emit('connection', socket);
}

function hub(): http.Server {
  if (server) return server;
  server = http.createServer({ headersTimeout: 15_000, requestTimeout: 60_000, connectionsCheckingInterval: 5_000 });
  server.on('request', (request, response) => {
    const owner = owners.get(request.socket);
    if (owner) owner.handler.handle(request, response, owner.transport);
    else request.socket.destroy();
  });
  server.on('connect', (_request, socket) => {
    socket.end('HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
  });
  // The time-outs for slow requests begin with this event, and this server never listens itself.
  server.emit('listening');
  return server;
}
