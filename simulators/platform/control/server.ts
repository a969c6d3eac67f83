/** Control API of the platform (`fixtures/platform-control.md`): JSON over HTTP on a loopback port. */
import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { controlRefusal } from '../../common/control-guard.ts';
import { jsonIn } from '../../common/malformed.ts';
import type { Core } from '../core.ts';
import { answerError, requireHttp1 } from '../http/errors.ts';
import { PlatformError } from '../ports.ts';
import { DEEDS, type PlatformControl } from './control.ts';

export interface PlatformInfo {
  url: string;
  agent_url: string;
  mqtt?: string;
  dialect: string;
}

export type PlatformControlServer = Awaited<ReturnType<typeof serveControl>>;

/** Starts the control API; rejects with a system error for an unusable port. */
export async function serveControl(
  control: PlatformControl,
  core: Core,
  info: PlatformInfo,
  { port, token }: { port: number; token: string },
) {
  const app = fastify({
    forceCloseConnections: true,
    // Allows long ids, because fastify would answer a longer id with an error of its own.
    routerOptions: { maxParamLength: 16_384 },
    frameworkErrors: (error, request, reply) => answerError(core, error, request as never, reply as never, () => {}),
  }) as unknown as FastifyInstance;
  app.setErrorHandler((error, request, reply) => answerError(core, error, request, reply, () => {}));
  requireHttp1(app);
  app.addHook('onRequest', async (request, reply) => {
    const refusal = controlRefusal(request.raw, token);
    if (refusal === undefined) return;
    reply.headers(refusal.headers ?? {});
    throw new PlatformError(refusal.status, refusal.code, refusal.message);
  });
  // Accepts a JSON content type without a body, which many clients send.
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => {
    const body = jsonIn(text);
    const isWrong = text !== '' && body === undefined;
    done(isWrong ? new PlatformError(400, 'invalid_json', 'the body is not JSON') : null, body);
  });
  app.setNotFoundHandler((request) => {
    throw new PlatformError(404, 'unknown_route', `the control API has no ${request.method} ${request.url}`);
  });
  app.get('/', () => ({ ...info, snapshots: control.snapshots, plans: control.plans.all }));
  app.get('/snapshots', () => ({ data: control.snapshots }));
  app.get('/plans', () => ({ data: control.plans.all }));
  for (const [method, url, act] of Object.values(DEEDS)) {
    app.route<{ Params: { id?: string } }>({
      method,
      url,
      handler: async ({ params: { id = '' }, body }, reply) => {
        const { status, answer } = act(control, id, body);
        return reply.code(status).send(answer);
      },
    });
  }
  await app.listen({ host: '127.0.0.1', port });
  const address = app.server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${address.port}`, [Symbol.asyncDispose]: () => app.close() };
}
