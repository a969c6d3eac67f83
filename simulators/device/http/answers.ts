/** Answers of the Device API. */
import type { ServerResponse } from 'node:http';
import type { HttpBehaviour } from '../behaviour.ts';

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    'Content-Type': 'application/json',
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

export function refuse(response: ServerResponse, http: HttpBehaviour, refusal: Refusal): void {
  const { status, code, message, params = {}, headers = {} } = refusal;
  sendJson(response, status, http.errorBody(status, code, message, params), headers);
}
