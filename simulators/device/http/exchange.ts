/** A request that is being answered, what the routes need of the agent, and the two kinds of short answer. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DeviceBehaviour, HttpBehaviour, Refusal } from '../behaviour.ts';
import type { Logger } from '../options.ts';
import type { Deployments } from '../state/deployments.ts';
import type { Stream } from '../stream/subscriber.ts';

/** The agent as the Device API shows it. */
export interface ServedAgent {
  readonly behaviour: DeviceBehaviour;
  readonly log: Logger;
  readonly deployments: Deployments;
  readonly stream: Stream;
  /** Body of `GET /device`. */
  device(): object;
  /** Syncs with the platform; body of `POST /device/sync`. */
  sync(): Promise<object>;
}

export interface Exchange {
  agent: ServedAgent;
  request: IncomingMessage;
  response: ServerResponse;
  query: URLSearchParams;
}

/** Answers with `body` as JSON. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  rules: HttpBehaviour,
  { type = 'application/json', headers = {} }: { type?: string; headers?: Record<string, string> } = {},
): void {
  send(response, status, JSON.stringify(body), { 'Content-Type': type, ...rules.headers, ...headers });
}

/** Answers with the error body of section 7. */
export function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  rules: HttpBehaviour,
  wanted: Refusal,
): void {
  const refusal = rules.refusal(wanted, request);
  const { status, headers = {} } = refusal;
  const body = rules.errorBody(refusal);
  if (body === undefined) send(response, status, '', headers);
  else if (typeof body === 'string') send(response, status, body, { 'Content-Type': 'text/plain', ...headers });
  else sendJson(response, status, body, rules, { headers });
}

function send(response: ServerResponse, status: number, text: string, headers: Record<string, string>): void {
  const bytes = Buffer.from(text);
  response.writeHead(status, { ...headers, 'Content-Length': bytes.length });
  response.end(bytes);
}
