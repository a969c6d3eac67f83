/** One request of a client and its whole answer. */
import type { Agent, IncomingHttpHeaders } from 'node:http';
import { http } from '../../harness/common/node-http.ts';
import type { Answer } from './behaviour.ts';

export interface Outgoing {
  method: 'GET' | 'POST';
  /** Address with its path and query; over a socket its host means nothing. */
  url: URL;
  headers: Readonly<Record<string, string>>;
  body: string | undefined;
  /** Path of a unix socket to reach it on. */
  socket: string | undefined;
}

export type Received = Answer & { headers: IncomingHttpHeaders };

/** Resolves with undefined when no whole answer comes within `withinMs`. */
export function send(
  { method, url, headers, body, socket }: Outgoing,
  { withinMs, signal, agent }: { withinMs: number; signal: AbortSignal; agent: Agent | false },
): Promise<Received | undefined> {
  return new Promise((resolve) => {
    const place = socket === undefined ? { host: url.hostname, port: url.port } : { socketPath: socket };
    const path = `${url.pathname}${url.search}`;
    const opening = http.request({ ...place, method, path, headers, signal, agent });
    const timer = setTimeout(() => opening.destroy(), withinMs);
    const settle = (received?: Received): void => {
      clearTimeout(timer);
      resolve(received);
    };
    opening.on('error', () => settle());
    opening.once('response', (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => void pieces.push(piece));
      response.once('error', () => settle());
      response.once('end', () => {
        const { statusCode: status = 0, headers: received, complete } = response;
        settle(complete ? { status, headers: received, text: Buffer.concat(pieces).toString('utf8') } : undefined);
      });
      response.once('close', () => settle());
    });
    opening.end(body);
  });
}
