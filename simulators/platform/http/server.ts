import type { Socket } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { reset } from '../../../harness/common/reset.ts';
import { AGENT_BASE_PATH } from '../../../harness/contract/agent.ts';
import { openApiDocument } from '../../../harness/contract/platform/openapi.ts';
import { OPERATIONS } from '../../../harness/contract/platform/operations.ts';
import {
  DIALECTS,
  type DialectNames,
  NAMES_BY_DIALECT,
  SUPPORTED_VERSIONS,
} from '../../../harness/contract/versions.ts';
import { random } from '../../common/random.ts';
import type { PlannedAnswer, Plans } from '../control/plans.ts';
import type { Core } from '../core.ts';
import type { PlatformFaults } from '../faults.ts';
import type { KeyRing } from '../keys.ts';
import { PlatformError } from '../ports.ts';
import type { Renderer } from '../render.ts';
import { answerClientError, serverOf } from './errors.ts';
import { registerRoutes } from './routes.ts';

/** Planned answers come before faults. With the same seed, faults hit the same requests. */
function addFaults(app: FastifyInstance, { faults = {}, plans, seed }: ServerParts): void {
  const dice = random(seed).fork('faults');
  const slowBodies = new WeakMap<FastifyRequest, number>();
  app.addHook('onRequest', async (request, reply) => {
    const path = (request.raw.url ?? '').slice(BASE_PATH.length).split('?', 1)[0] ?? '';
    const planned = plans?.take(request.method, path);
    if (planned !== undefined && 'answer' in planned) return answer(reply, planned.answer);
    const { latency, throttle, failure, reset: resetting, slowBody } = planned?.faults ?? faults;
    if (slowBody && dice.chance(slowBody.rate)) slowBodies.set(request, slowBody.milliseconds);
    if (latency && dice.chance(latency.rate)) await sleep(latency.milliseconds, undefined, { ref: false });
    if (resetting && dice.chance(resetting.rate)) {
      reset(request.raw.socket);
      return reply.hijack();
    }
    if (throttle && dice.chance(throttle.rate)) {
      reply.header('retry-after', String(throttle.retryAfterSeconds));
      throw new PlatformError(429, 'too_many_requests', 'a planted fault: too many requests');
    }
    if (failure && dice.chance(failure.rate))
      throw new PlatformError(failure.status, 'unavailable', 'a planted fault: the platform is not available');
    return undefined;
  });
  app.addHook('onSend', async (request, reply, payload) => {
    const pause = slowBodies.get(request);
    if (pause === undefined || !(typeof payload === 'string' || Buffer.isBuffer(payload))) return payload;
    reply.removeHeader('content-length');
    return Readable.from(inPieces(Buffer.from(payload), pause));
  });
}

function answer(reply: FastifyReply, { status, headers = {}, body }: PlannedAnswer): FastifyReply {
  const isText = typeof body === 'string';
  if (body !== undefined)
    reply.header('content-type', isText ? 'text/plain; charset=utf-8' : 'application/json; charset=utf-8');
  for (const [name, value] of Object.entries(headers)) reply.header(name.toLowerCase(), value);
  return reply.code(status).send(body === undefined || isText ? body : JSON.stringify(body));
}

async function* inPieces(bytes: Buffer, milliseconds: number): AsyncGenerator<Buffer> {
  const size = Math.max(1, Math.ceil(bytes.length / 16));
  for (let start = 0; start < bytes.length; start += size) {
    await sleep(milliseconds, undefined, { ref: false });
    yield bytes.subarray(start, start + size);
  }
}

/** `/openapi/<version>.json` needs no API key; each document is generated at its first request. */
function serveDocuments(app: FastifyInstance, names: DialectNames): void {
  const dialect = DIALECTS.find((each) => NAMES_BY_DIALECT[each] === names) ?? 'spec';
  const documents = new Map<string, string>();
  app.get('/openapi/:file', (request, reply) => {
    const { file } = request.params as { file: string };
    const version = SUPPORTED_VERSIONS.find((each) => file === `${each}.json`);
    if (version === undefined) {
      const accepted = SUPPORTED_VERSIONS.map((each) => `${each}.json`);
      throw new PlatformError(404, 'unknown_version', 'there is no document of that version', { accepted });
    }
    const document = documents.get(version) ?? JSON.stringify(openApiDocument(version, { dialect, server: BASE_PATH }));
    documents.set(version, document);
    return reply.header('content-type', 'application/json; charset=utf-8').send(document);
  });
}

export const BASE_PATH = '/beta';

interface ServerParts {
  core: Core;
  renderer: Renderer;
  keys: KeyRing;
  seed: string;
  faults?: PlatformFaults | undefined;
  plans?: Plans | undefined;
  log?: Logger | undefined;
  tls?: { cert: string; key: string } | undefined;
  exchanges?: { listenTo(app: FastifyInstance): void } | undefined;
  registerAgent?: ((app: FastifyInstance) => void) | undefined;
}

export function buildServer(parts: ServerParts): FastifyInstance {
  const { core, renderer, keys, log, tls, exchanges, registerAgent } = parts;
  const { connected, delayMs } = core.behaviour;
  const options = {
    bodyLimit: 4 * 1024 * 1024,
    requestTimeout: 60_000,
    clientErrorHandler: (error: Error, socket: Duplex) => answerClientError(core, error, socket as Socket),
    ...(tls && { https: tls }),
  };
  const app = serverOf(core, options, (error, { raw }) =>
    log?.error({ err: error, method: raw.method, path: raw.url?.split('?')[0] }, 'request failed'),
  );
  exchanges?.listenTo(app);
  void app.register(
    (scope, _options, done) => {
      if (delayMs) scope.addHook('onRequest', () => sleep(delayMs(), undefined, { ref: false }));
      if (parts.faults || parts.plans) addFaults(scope, parts);
      registerRoutes(scope, core, renderer, keys);
      serveDocuments(scope, core.names);
      refuseOthers(scope, 'there is nothing at this path');
      done();
    },
    { prefix: BASE_PATH },
  );
  if (connected) app.server.on(tls ? 'secureConnection' : 'connection', connected);
  registerAgent?.(app);
  serveDocuments(app, core.names);
  const agents = registerAgent === undefined ? '' : `, that of agents under ${AGENT_BASE_PATH}`;
  refuseOthers(app, `there is nothing at this path: the Platform API is under ${BASE_PATH}${agents}`);
  return app;
}

const PATTERNS = OPERATIONS.map(({ method, path }) => ({
  method,
  pattern: new RegExp(`^${BASE_PATH}${path.replace(/\{\w+\}/g, '[^/]+')}$`),
}));

/** Refuses all other paths and methods before the body is read. */
function refuseOthers(app: FastifyInstance, nothing: string): void {
  const refusal = ({ method, raw }: Pick<FastifyRequest, 'method' | 'raw'>): PlatformError => {
    const path = (raw.url ?? '').split('?')[0] ?? '';
    const allowed = PATTERNS.filter(({ pattern }) => pattern.test(path)).map((operation) => operation.method);
    if (allowed.length === 0) return new PlatformError(404, 'unknown_route', nothing);
    return new PlatformError(405, 'method_not_allowed', `${method} is not served here`, { allowed });
  };
  app.setNotFoundHandler((request) => {
    throw refusal(request);
  });
  app.all('/*', { onRequest: (request, _reply, done) => done(refusal(request)), handler: () => {} });
}
