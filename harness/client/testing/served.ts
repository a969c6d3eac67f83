import { createServer, Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { served } from '../../common/testing/servers.ts';
import { HttpClient, type HttpClientOptions } from '../http.ts';

type Place = Server | string | HttpClientOptions['endpoint'];

export async function clientOf(place: Place, options: Omit<HttpClientOptions, 'endpoint'> = {}) {
  const origin = place instanceof Server ? (await served(place)).url : place;
  const http = new HttpClient({ endpoint: typeof origin === 'string' ? { origin } : origin, ...options });
  onTestFinished(() => http.close());
  return http;
}

export const talking = (say: (socket: Socket) => void): Promise<HttpClient> =>
  clientOf(createServer((socket) => say(socket.resume())));

/** Sends `begin`, and then pieces without end, after the first bytes of the client. */
export const pouring = (begin: string, piece: (index: number) => string): Promise<HttpClient> =>
  talking((socket) => {
    let index = 0;
    const pour = (): void => {
      while (!socket.destroyed && socket.write(piece(index))) index += 1;
      index += 1;
      socket.once('drain', pour);
    };
    socket.once('data', () => {
      socket.write(begin);
      pour();
    });
  });
