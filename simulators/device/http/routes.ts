/** The Device API's resources (specification section 4.1), and those that published agents serve beside them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import os from 'node:os';
import { percentDecoded } from '../../common/percent.ts';
import type { Refusal } from '../behaviour.ts';
import type { Entrance } from '../transport/transport.ts';
import { serveEvents } from './events.ts';
import { type Exchange, refuse, type ServedAgent, sendJson } from './exchange.ts';

const AGENT_VERSION = 'v0.1.0';

interface Route {
  method: 'GET' | 'POST';
  path: RegExp;
  handle(exchange: Exchange, id: string): void | Promise<void>;
}

/** A resource that is a JSON document. `read` gives undefined for one that does not exist; that is answered with 404. */
const json = (path: RegExp, resource: string, read: (agent: ServedAgent, id: string) => unknown): Route => ({
  method: 'GET',
  path,
  handle: ({ agent, request, response }, id) => {
    const value = read(agent, id);
    const { http } = agent.behaviour;
    if (value === undefined) refuse(request, response, http, missing(resource, id));
    else sendJson(response, 200, http.resource(value), http, { type: http.jsonType });
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
    return id === undefined ? undefined : deployments.release(id);
  }),
  json(/^\/releases\/([^/]+)$/, 'release', ({ deployments }, id) => deployments.release(id)),
  json(/^\/git_commits\/([^/]+)$/, 'git_commit', ({ deployments }, id) => deployments.gitCommit(id)),
  json(/^\/device$/, 'device', (agent) => agent.device()),
  json(/^\/health$/, 'health', () => ({ status: 'ok' })),
  json(/^\/version$/, 'version', version),
  {
    method: 'POST',
    path: /^\/device\/sync$/,
    handle: async ({ agent, response }) => {
      const { http } = agent.behaviour;
      sendJson(response, 200, http.resource(await agent.sync()), http);
    },
  },
];

/** Answers one request. An error of ours is answered with 500 and logged. */
export function serve(
  agent: ServedAgent,
  request: IncomingMessage,
  response: ServerResponse,
  entrance: Entrance,
): void {
  answer(agent, request, response, entrance).catch((error: unknown) => {
    agent.log.error({ err: error, method: request.method }, 'a request failed');
    if (response.headersSent) request.socket.destroy();
    else refuse(request, response, agent.behaviour.http, INTERNAL);
  });
}

async function answer(
  agent: ServedAgent,
  request: IncomingMessage,
  response: ServerResponse,
  entrance: Entrance,
): Promise<void> {
  const { http } = agent.behaviour;
  const refused = (refusal: Refusal) => refuse(request, response, http, refusal);
  if (!agent.behaviour.transport.authorized(request.headers.authorization, entrance.token, entrance.transport)) {
    return refused(UNAUTHORIZED);
  }
  if (http.intercept(request, response)) return;
  const url = request.url ?? '/';
  const mark = url.indexOf('?');
  const path = http.route(mark < 0 ? url : url.slice(0, mark));
  const route = path === undefined ? undefined : ROUTES.find((candidate) => candidate.path.test(path));
  if (path === undefined || !route) return refused(NOT_FOUND);
  const isHead = request.method === 'HEAD' && route.method === 'GET';
  if (request.method !== route.method && !isHead) return refused(notAllowed(route.method));
  const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
  const id = percentDecoded(route.path.exec(path)?.[1] ?? '');
  await route.handle({ agent, request, response, query }, id);
}

function version() {
  return {
    version: AGENT_VERSION,
    git_commit: '0000000000000000000000000000000000000000',
    api_version: 'v0.2',
    api_git_commit: '0000000000000000000000000000000000000000',
    rust_version: `none (Node ${process.version})`,
    build_date: '2026-01-01T00:00:00Z',
    os: os.platform(),
    arch: os.arch(),
  };
}

const NOT_FOUND: Refusal = { status: 404, code: 'not_found', message: 'there is nothing at this path' };

const UNAUTHORIZED: Refusal = {
  status: 401,
  code: 'unauthorized',
  message: 'send the token of the discovery file as "Authorization: Bearer <token>"',
  headers: { 'WWW-Authenticate': 'Bearer' },
};

const INTERNAL: Refusal = {
  status: 500,
  code: 'internal_error',
  message: 'the agent could not answer; its log says why',
};

const notAllowed = (method: Route['method']): Refusal => {
  const allowed = method === 'GET' ? 'GET, HEAD' : method;
  const message = `this path answers ${allowed} only`;
  return { status: 405, code: 'method_not_allowed', message, headers: { Allow: allowed } };
};

const missing = (resource: string, id: string): Refusal => ({
  status: 404,
  code: `${resource}_not_found`,
  message: id === '' ? `the device has no current ${resource}` : `the device knows no such ${resource}`,
});
