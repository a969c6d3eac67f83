/** The HTTP server of the platform. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import fastify, { type FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { AGENT_BASE_PATH } from '../../../harness/contract/agent.ts';
import { OPERATIONS } from '../../../harness/contract/platform/operations.ts';
import type { Plans } from '../control/plans.ts';
import type { Core } from '../core.ts';
import type { PlatformFaults } from '../faults.ts';
import type { KeyRing } from '../keys.ts';
import { PlatformError } from '../ports.ts';
import type { Renderer } from '../render.ts';
import { answerClientError, requireHttp1 } from './client-errors.ts';
import { answerError } from './errors.ts';
import { addFaults } from './faults.ts';
import { serveDocuments } from './openapi.ts';
import { registerRoutes } from './routes.ts';

/** Section 9: the base address contains this path segment. */
export const BASE_PATH = '/beta';
const BODY_LIMIT = 4 * 1024 * 1024;

export interface ServerParts {
  core: Core;
  renderer: Renderer;
  keys: KeyRing;
  /** Drives the faults. */
  seed: string;
  faults?: PlatformFaults | undefined;
  /** Planned by control. */
  plans?: Plans | undefined;
  log?: Logger | undefined;
  tls?: { cert: string; key: string } | undefined;
  /** Keeps the requests for somebody who looks on. */
  exchanges?: { listenTo(app: FastifyInstance): void } | undefined;
  /** Serves the agent API on the same server. */
  registerAgent?: ((app: FastifyInstance) => void) | undefined;
}

/** Builds the server; it does not listen yet. */
export function buildServer(parts: ServerParts): FastifyInstance {
  const { core, renderer, keys, seed, faults, plans, log, tls, exchanges, registerAgent } = parts;
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    // A very long id in a path is an unknown resource, not an unknown route.
    routerOptions: { maxParamLength: 16_384 },
    forceCloseConnections: true,
    // Ends requests that never finish.
    requestTimeout: 60_000,
    clientErrorHandler: (error, socket) => answerClientError(core, error, socket as Socket),
    ...(tls && { https: tls }),
    frameworkErrors: (error, request, reply) => answerError(core, error, request as never, reply as never, onFailure),
  }) as unknown as FastifyInstance;
  function onFailure(error: unknown, request: { raw: IncomingMessage }): void {
    log?.error({ err: error, method: request.raw.method, path: request.raw.url?.split('?')[0] }, 'request failed');
  }
  app.setErrorHandler((error, request, reply) => answerError(core, error, request, reply, onFailure));
  exchanges?.listenTo(app);
  requireHttp1(app);
  void app.register(
    (scope, _options, done) => {
      addDelay(scope, core);
      if (faults || plans) addFaults(scope, { faults, plans, seed, basePath: BASE_PATH });
      registerRoutes(scope, core, renderer, keys);
      serveDocuments(scope, core.names, BASE_PATH);
      refuseOthers(scope, 'there is nothing at this path');
      done();
    },
    { prefix: BASE_PATH },
  );
  const { connected } = core.behaviour;
  if (connected) app.server.on(tls ? 'secureConnection' : 'connection', connected);
  registerAgent?.(app);
  serveDocuments(app, core.names, BASE_PATH);
  const agents = registerAgent === undefined ? '' : `, that of agents under ${AGENT_BASE_PATH}`;
  refuseOthers(app, `there is nothing at this path: the Platform API is under ${BASE_PATH}${agents}`);
  return app;
}

/** Answers as late as the behaviour wants. */
function addDelay(app: FastifyInstance, { behaviour }: Core): void {
  const { delayMs } = behaviour;
  if (delayMs) app.addHook('onRequest', () => setTimeout(delayMs(), undefined, { ref: false }));
}

/** Answers before a body is read, which the router's own "not found" does not. That is left with methods that the router does not know. */
function refuseOthers(app: FastifyInstance, nothing: string): void {
  app.setNotFoundHandler((request) => {
    throw unknownRoute(request.method, request.raw.url ?? '', nothing);
  });
  app.all('/*', {
    onRequest: (request, _reply, done) => done(unknownRoute(request.method, request.raw.url ?? '', nothing)),
    handler: () => {},
  });
}

const PATTERNS = OPERATIONS.map(({ method, path }) => ({
  method,
  pattern: new RegExp(`^${BASE_PATH}${path.replace(/\{\w+\}/g, '[^/]+')}$`),
}));

function unknownRoute(method: string, url: string, nothing: string): PlatformError {
  const path = url.split('?')[0] ?? '';
  const allowed = PATTERNS.filter(({ pattern }) => pattern.test(path)).map((operation) => operation.method);
  if (allowed.length === 0) return new PlatformError(404, 'unknown_route', nothing);
  return new PlatformError(405, 'method_not_allowed', `${method} is not served here`, { allowed });
}
