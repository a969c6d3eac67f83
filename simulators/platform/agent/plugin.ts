/** The agent API as one encapsulated fastify plugin: its own bodies, errors and version header. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AGENT_API_VERSION, DIALECT_NAMES, type Dialect } from '../../../harness/contract/versions.ts';
import { PlatformError } from '../ports.ts';
import type { AgentContext } from './context.ts';
import { deploymentRoutes } from './deployments.ts';
import { deviceRoutes } from './devices.ts';
import { resourceRoutes } from './resources.ts';

/** The largest request of an agent carries a public key. */
const BODY_LIMIT = 64 * 1024;

/** The plugin for one dialect; register it below `/agent/v1`. */
export function agentPlugin(context: AgentContext, dialect: Dialect) {
  const { versionHeader } = DIALECT_NAMES[dialect];
  return async (app: FastifyInstance): Promise<void> => {
    app.removeAllContentTypeParsers();
    // Bodies are parsed by the routes that need one: a token request has none, even if its content type says JSON.
    app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: BODY_LIMIT }, (_request, raw, done) =>
      done(null, raw),
    );
    app.setErrorHandler(sendError);
    app.setNotFoundHandler((request, reply) => {
      sendError(
        new PlatformError(404, 'not_found', `the agent API has no ${request.method} on this path`),
        request,
        reply,
      );
    });
    app.addHook('onRequest', async (request) => {
      const version = request.headers[versionHeader.toLowerCase()];
      if (version === AGENT_API_VERSION) return;
      throw new PlatformError(400, 'unsupported_version', `${versionHeader}: ${AGENT_API_VERSION} is required`, {
        accepted: [AGENT_API_VERSION],
      });
    });
    deviceRoutes(app, context);
    deploymentRoutes(app, context);
    resourceRoutes(app, context);
  };
}

interface HttpError extends Error {
  statusCode?: number;
  code?: string;
}

function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const { status, code, message, params } = describe(error as HttpError);
  if (status >= 500) request.log.error(error, 'agent request failed');
  void reply.status(status).send({ error: { code, params, message } });
}

function describe(error: HttpError) {
  if (error instanceof PlatformError) return error;
  const status = error.statusCode ?? 500;
  if (status >= 500) return { status, code: 'internal_error', message: 'the request could not be handled', params: {} };
  return { status, code: (error.code ?? 'invalid_request').toLowerCase(), message: error.message, params: {} };
}
