import { createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { served } from '../../common/testing/servers.ts';
import { HttpClient, type HttpClientOptions } from '../http.ts';

export async function clientOf(
  server: Server | string,
  options: Omit<HttpClientOptions, 'endpoint'> = {},
): Promise<HttpClient> {
  const origin = typeof server === 'string' ? server : (await served(server)).url;
  const http = new HttpClient({ endpoint: { origin }, ...options });
  onTestFinished(() => http.close());
  return http;
}

export const talking = (say: (socket: Socket) => void): Promise<HttpClient> =>
  clientOf(createServer((socket) => say(socket.resume())));
