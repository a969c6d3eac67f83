/** Servers and clients that a test closes at its end. */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { HttpClient, type HttpClientOptions } from '../http.ts';

export async function listening(server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export async function clientOf(
  server: Server | string,
  options: Omit<HttpClientOptions, 'endpoint'> = {},
): Promise<HttpClient> {
  const origin = typeof server === 'string' ? server : await listening(server);
  const http = new HttpClient({ endpoint: { origin }, ...options });
  onTestFinished(() => http.close());
  return http;
}

export const talking = (say: (socket: Socket) => void): Promise<HttpClient> =>
  clientOf(createServer((socket) => say(socket.on('error', () => {}).resume())));
