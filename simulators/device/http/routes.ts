/** Routes of the Device API (section 4.1 of the specification), and of further resources of published agents. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import os from 'node:os';
import { percentDecoded } from '../../common/malformed.ts';
import type { DeviceBehaviour, Refusal } from '../behaviour.ts';
import type { Logger } from '../options.ts';
import type { Deployments } from '../state/deployments.ts';
import { type Stream, Subscriber } from '../stream/subscriber.ts';
import type { Entrance } from '../transport.ts';
import { takeOver } from './shared-server.ts';

export interface ServedAgent {
  readonly behaviour: DeviceBehaviour;
  readonly log: Logger;
  readonly deployments: Deployments;
  readonly stream: Stream;
  device(): object;
  sync(): Promise<object>;
}

interface Exchange {
  agent: ServedAgent;
  request: IncomingMessage;
  response: ServerResponse;
}

function sendJson({ agent, response }: Exchange, status: number, body: unknown, headers: Record<string, string> = {}) {
  const all = { 'Content-Type': 'application/json', ...agent.behaviour.http.headers, ...headers };
  send(response, status, JSON.stringify(body), all);
}

function refuse(exchange: Exchange, wanted: Refusal): void {
  const { agent, request, response } = exchange;
  const { http: rules } = agent.behaviour;
  const refusal = rules.refusal(wanted, request);
  const { status, headers = {} } = refusal;
  const body = rules.errorBody(refusal);
  if (body === undefined) send(response, status, '', headers);
  else if (typeof body === 'string') send(response, status, body, { 'Content-Type': 'text/plain', ...headers });
  else sendJson(exchange, status, body, headers);
}

function send(response: ServerResponse, status: number, text: string, headers: Record<string, string>): void {
  const bytes = Buffer.from(text);
  response.writeHead(status, { ...headers, 'Content-Length': bytes.length });
  response.end(bytes);
}

function serveEvents(exchange: Exchange, query: URLSearchParams): void {
  const { agent, request, response } = exchange;
  const { stream: rules } = agent.behaviour;
  const { log } = agent.stream;
  const header = request.headers['last-event-id'];
  const lastEventId = Array.isArray(header) ? header[0] : header;
  const cursor = rules.chooseCursor({ after: query.getAll('after'), lastEventId });
  if (cursor === 'malformed') {
    const message = 'the cursor is not an event id; send a non-negative integer as after, or as Last-Event-ID';
    refuse(exchange, { status: 400, code: 'invalid_cursor', message });
    return;
  }
  const retained = { earliest: log.earliest, latest: log.latest };
  const after = rules.resolveCursor(cursor, retained);
  if (after === 'expired') {
    refuse(exchange, {
      status: 410,
      code: 'cursor_expired',
      message: 'the cursor is older than the earliest retained event',
      params: { earliest_id: retained.earliest, latest_id: retained.latest },
    });
    return;
  }
  const filter = rules.parseTypes(query.getAll('types'));
  const chunked = request.httpVersion !== '1.0';
  const framing = chunked ? { 'Transfer-Encoding': 'chunked' } : { Connection: 'close' };
  response.writeHead(200, { ...rules.headers, ...framing });
  if (request.method === 'HEAD') return void response.end();
  // Node sends only the head; frames go directly to the socket, so that subscribers share encoded bytes.
  response.flushHeaders();
  takeOver(request, response);
  agent.stream.onOpen?.(request.socket, { client: request.headers['user-agent'], after, types: filter });
  const session = rules.session({ after, filter, retained });
  // Subscribes in the same tick as the cursor check, before a compaction can change the log.
  const subscriber = new Subscriber(agent.stream, request.socket, { after, filter, chunked, session });
  const open = (): void => {
    if (!request.socket.destroyed) subscriber.open();
  };
  if (response.socket) open();
  // Node gives the socket to a pipelined response after the previous response.
  else response.once('socket', () => process.nextTick(open));
}

interface Route {
  method: 'GET' | 'POST';
  path: RegExp;
  handle(exchange: Exchange, query: URLSearchParams, id: string): void | Promise<void>;
}

const json = (path: RegExp, resource: string, read: (agent: ServedAgent, id: string) => unknown): Route => ({
  method: 'GET',
  path,
  handle: (exchange, _query, id) => {
    const { agent } = exchange;
    const value = read(agent, id);
    const { http } = agent.behaviour;
    const message = id === '' ? `the device has no current ${resource}` : `the device knows no such ${resource}`;
    if (value === undefined) refuse(exchange, { status: 404, code: `${resource}_not_found`, message });
    else sendJson(exchange, 200, http.resource(value), { 'Content-Type': http.jsonType });
  },
});

const ROUTES: readonly Route[] = [
  json(/^\/deployments\/current$/, 'deployment', ({ deployments, behaviour }) => {
    const current = deployments.current();
    return current && behaviour.http.deploymentBody(current);
  }),
  { method: 'GET', path: /^\/events$/, handle: serveEvents },
  json(/^\/deployments\/([^/]+)$/, 'deployment', ({ deployments }, id) => deployments.get(id)),
  json(/^\/releases\/current$/, 'release', ({ deployments }) => {
    const id = deployments.current()?.release_id;
    return id === undefined ? undefined : deployments.book.release(id);
  }),
  json(/^\/releases\/([^/]+)$/, 'release', ({ deployments }, id) => deployments.book.release(id)),
  json(/^\/git_commits\/([^/]+)$/, 'git_commit', ({ deployments }, id) => deployments.book.gitCommit(id)),
  json(/^\/device$/, 'device', (agent) => agent.device()),
  json(/^\/health$/, 'health', () => ({ status: 'ok' })),
  json(/^\/version$/, 'version', () => ({
    version: 'v0.1.0',
    git_commit: '0000000000000000000000000000000000000000',
    api_version: 'v0.2',
    api_git_commit: '0000000000000000000000000000000000000000',
    rust_version: `none (Node ${process.version})`,
    build_date: '2026-01-01T00:00:00Z',
    os: os.platform(),
    arch: os.arch(),
  })),
  {
    method: 'POST',
    path: /^\/device\/sync$/,
    handle: async (exchange) => {
      const { agent } = exchange;
      sendJson(exchange, 200, agent.behaviour.http.resource(await agent.sync()));
    },
  },
];

export function serve(exchange: Exchange, entrance: Entrance): void {
  const { agent, request, response } = exchange;
  answer(exchange, entrance).catch((error: unknown) => {
    agent.log.error({ err: error, method: request.method }, 'a request failed');
    const message = 'the agent could not answer; its log says why';
    if (response.headersSent) request.socket.destroy();
    else refuse(exchange, { status: 500, code: 'internal_error', message });
  });
}

async function answer(exchange: Exchange, entrance: Entrance): Promise<void> {
  const { agent, request, response } = exchange;
  const { http, transport } = agent.behaviour;
  if (!transport.authorized(request.headers.authorization, entrance.token, entrance.transport))
    return refuse(exchange, {
      status: 401,
      code: 'unauthorized',
      message: 'send the token of the discovery file as "Authorization: Bearer <token>"',
      headers: { 'WWW-Authenticate': 'Bearer' },
    });
  if (http.intercept(request, response)) return;
  // URLs may be in absolute form (RFC 9112, section 3.2.2).
  const url = (request.url ?? '/').replace(/^https?:\/\/[^/?]*/i, '');
  const mark = url.indexOf('?');
  const path = http.route(mark < 0 ? url : url.slice(0, mark));
  const route = path === undefined ? undefined : ROUTES.find((candidate) => candidate.path.test(path));
  if (path === undefined || !route)
    return refuse(exchange, { status: 404, code: 'not_found', message: 'there is nothing at this path' });
  const isHead = request.method === 'HEAD' && route.method === 'GET';
  if (request.method !== route.method && !isHead) {
    const allowed = route.method === 'GET' ? 'GET, HEAD' : route.method;
    const message = `this path answers ${allowed} only`;
    return refuse(exchange, { status: 405, code: 'method_not_allowed', message, headers: { Allow: allowed } });
  }
  const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
  const id = percentDecoded(route.path.exec(path)?.[1] ?? '');
  await route.handle(exchange, query, id);
}
