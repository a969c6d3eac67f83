/** Answers of the Device API. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpBehaviour } from '../behaviour.ts';

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  { type = 'application/json', headers = {} }: { type?: string; headers?: Record<string, string> } = {},
): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': bytes.length,
    'Cache-Control': 'no-store',
    ...headers,
  });
  response.end(bytes);
}

/** A request that is not granted. */
export interface Refusal {
  status: number;
  code: string;
  message: string;
  params?: Record<string, unknown>;
  headers?: Record<string, string>;
}

export function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  rules: HttpBehaviour,
  wanted: Refusal,
): void {
  const refusal = rules.refusal(wanted, request);
  sendJson(response, refusal.status, rules.errorBody(refusal), { headers: refusal.headers ?? {} });
}
