/** The platform's control API (`fixtures/platform-control.md`): JSON over HTTP on a loopback port of its own. */
import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { controlRefusal } from '../../common/control-guard.ts';
import type { Core } from '../core.ts';
import { answerError, requireHttp1 } from '../http/errors.ts';
import { PlatformError } from '../ports.ts';
import { bodyOf, groupBody, type PlatformControl, snapshotBody } from './control.ts';
import { planBody } from './plans.ts';

/** What `GET /` tells of the platform. */
export interface PlatformInfo {
  url: string;
  agent_url: string;
  mqtt?: string;
  dialect: string;
}

export interface PlatformControlServer {
  /** `http://127.0.0.1:<port>`. */
  readonly url: string;
  close(): Promise<void>;
}

/** Rejects with the system's error when the port cannot be used. */
export async function serveControl(
  control: PlatformControl,
  core: Core,
  info: PlatformInfo,
  { port, token }: { port: number; token: string },
): Promise<PlatformControlServer> {
  const app = fastify({
    forceCloseConnections: true,
    // A very long id in a path is an unknown device, not a failure of the framework.
    routerOptions: { maxParamLength: 16_384 },
    frameworkErrors: (error, request, reply) => answerError(core, error, request as never, reply as never, () => {}),
  }) as unknown as FastifyInstance;
  app.setErrorHandler((error, request, reply) => answerError(core, error, request, reply, () => {}));
  requireHttp1(app);
  app.addHook('onRequest', async (request, reply) => refuseOthers(request, reply, token));
  // Many clients name the type of a body that they do not send.
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => parseJson(text, done));
  app.setNotFoundHandler((request) => {
    throw new PlatformError(404, 'unknown_route', `the control API has no ${request.method} ${request.url}`);
  });
  app.get('/', () => ({ ...info, snapshots: control.snapshots, plans: control.plans.all }));
  devices(app, control);
  states(app, control);
  plans(app, control);
  await app.listen({ host: '127.0.0.1', port });
  const address = app.server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${address.port}`, close: () => app.close() };
}

type WithId = { Params: { id: string } };

function devices(app: FastifyInstance, control: PlatformControl): void {
  app.post<WithId>('/devices/:id/archive', ({ params }) => control.archiveDevice(params.id));
  app.post<WithId>('/devices/:id/online', ({ params }) => control.setOnline(params.id, true));
  app.post<WithId>('/devices/:id/offline', ({ params }) => control.setOnline(params.id, false));
  app.post<WithId>('/devices/:id/group', ({ params, body }) =>
    control.assignGroup(params.id, bodyOf(body, groupBody).group_id),
  );
}

function states(app: FastifyInstance, control: PlatformControl): void {
  app.post('/reset', async (_request, reply) => {
    control.reset();
    return reply.code(204).send();
  });
  app.get('/snapshots', () => ({ data: control.snapshots }));
  app.post('/snapshots', async ({ body }, reply) => {
    const { name } = bodyOf(body, snapshotBody);
    control.snapshot(name);
    return reply.code(201).send({ name });
  });
  app.post<{ Params: { name: string } }>('/snapshots/:name/restore', async ({ params }, reply) => {
    control.restore(params.name);
    return reply.code(204).send();
  });
  app.delete<{ Params: { name: string } }>('/snapshots/:name', async ({ params }, reply) => {
    control.removeSnapshot(params.name);
    return reply.code(204).send();
  });
}

function plans(app: FastifyInstance, control: PlatformControl): void {
  app.get('/plans', () => ({ data: control.plans.all }));
  app.post('/plans', async ({ body }, reply) => reply.code(201).send(control.plans.add(bodyOf(body, planBody))));
  app.delete('/plans', async (_request, reply) => {
    control.plans.clear();
    return reply.code(204).send();
  });
  app.delete<WithId>('/plans/:id', async ({ params }, reply) => {
    control.plans.remove(Number(params.id));
    return reply.code(204).send();
  });
}

function parseJson(text: string | Buffer, done: (error: Error | null, body?: unknown) => void): void {
  try {
    done(null, text === '' ? undefined : JSON.parse(String(text)));
  } catch {
    done(new PlatformError(400, 'invalid_json', 'the body is not JSON'));
  }
}

/** Throws PlatformError. */
function refuseOthers(request: FastifyRequest, reply: FastifyReply, token: string): void {
  const refusal = controlRefusal(request.raw, token);
  if (refusal === undefined) return;
  reply.headers(refusal.headers ?? {});
  throw new PlatformError(refusal.status, refusal.code, refusal.message);
}
