/** The Device API's resources (specification section 4.1, and what published agents serve beside it). */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Agent } from '../agent.ts';
import { type Refusal, refuse, sendJson } from './answers.ts';
import { serveEvents } from './events.ts';
import type { Transport } from './hub.ts';
import { health, version } from './self.ts';

export interface Exchange {
  agent: Agent;
  request: IncomingMessage;
  response: ServerResponse;
  query: URLSearchParams;
}

type Handler = (exchange: Exchange, id: string) => void | Promise<void>;

interface Route {
  method: 'GET' | 'POST';
  path: RegExp;
  handle: Handler;
}

const ROUTES: readonly Route[] = [
  { method: 'GET', path: /^\/deployments\/current$/, handle: current },
  { method: 'GET', path: /^\/events$/, handle: serveEvents },
  { method: 'GET', path: /^\/health$/, handle: ({ response }) => sendJson(response, 200, health()) },
  { method: 'GET', path: /^\/version$/, handle: ({ response }) => sendJson(response, 200, version()) },
  { method: 'GET', path: /^\/device$/, handle: ({ agent, response }) => sendJson(response, 200, agent.device()) },
  {
    method: 'POST',
    path: /^\/device\/sync$/,
    handle: async ({ agent, response }) => sendJson(response, 200, await agent.sync()),
  },
  {
    method: 'GET',
    path: /^\/deployments\/([^/]+)$/,
    handle: ({ agent, response }, id) => {
      found(agent, response, 'deployment', id, agent.deployments.get(id));
    },
  },
  {
    method: 'GET',
    path: /^\/releases\/current$/,
    handle: ({ agent, response }) => {
      const id = agent.deployments.current()?.release_id;
      found(agent, response, 'release', 'current', id === undefined ? undefined : agent.deployments.release(id));
    },
  },
  {
    method: 'GET',
    path: /^\/releases\/([^/]+)$/,
    handle: ({ agent, response }, id) => {
      found(agent, response, 'release', id, agent.deployments.release(id));
    },
  },
  {
    method: 'GET',
    path: /^\/git_commits\/([^/]+)$/,
    handle: ({ agent, response }, id) => {
      found(agent, response, 'git_commit', id, agent.deployments.gitCommit(id));
    },
  },
];

/** Answers one request. */
export function serve(agent: Agent, request: IncomingMessage, response: ServerResponse, transport: Transport): void {
  const { http } = agent.behaviour;
  const token = agent.token;
  if (transport === 'loopback' && token !== undefined && !http.authorized(request.headers.authorization, token)) {
    refuse(response, http, {
      status: 401,
      code: 'unauthorized',
      message: 'send the token of the discovery file as "Authorization: Bearer <token>"',
      headers: { 'WWW-Authenticate': 'Bearer' },
    });
    return;
  }
  const url = request.url ?? '/';
  const mark = url.indexOf('?');
  const path = http.route(mark < 0 ? url : url.slice(0, mark));
  const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
  const exchange = { agent, request, response, query };
  const matching = path === undefined ? [] : ROUTES.filter((route) => route.path.test(path));
  const [first] = matching;
  if (path === undefined || !first) {
    refuse(response, http, { status: 404, code: 'not_found', message: 'there is nothing at this path' });
    return;
  }
  const asked = request.method === 'HEAD' ? 'GET' : request.method;
  if (asked !== first.method) {
    const allowed = first.method === 'GET' ? 'GET, HEAD' : first.method;
    const message = `this path answers ${allowed} only`;
    refuse(response, http, { status: 405, code: 'method_not_allowed', message, headers: { Allow: allowed } });
    return;
  }
  Promise.try(() => first.handle(exchange, first.path.exec(path)?.[1] ?? '')).catch((error: unknown) => {
    agent.log.error({ err: error, path }, 'request failed');
    if (response.headersSent) request.socket.destroy();
    else
      refuse(response, http, {
        status: 500,
        code: 'internal_error',
        message: 'the agent could not answer; see its log',
      });
  });
}

function current({ agent, response }: Exchange): void {
  const deployment = agent.deployments.current();
  found(agent, response, 'deployment', 'current', deployment && agent.behaviour.http.deploymentBody(deployment));
}

function found(agent: Agent, response: ServerResponse, resource: string, id: string, value: unknown): void {
  if (value !== undefined) {
    sendJson(response, 200, value);
    return;
  }
  const refusal: Refusal = {
    status: 404,
    code: `${resource}_not_found`,
    message: id === 'current' ? `the device has no current ${resource}` : `the device knows no such ${resource}`,
  };
  refuse(response, agent.behaviour.http, refusal);
}
