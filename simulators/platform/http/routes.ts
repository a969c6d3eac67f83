/** Every published operation as a route: admission, body, handler, answer. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Operation } from '../../../harness/contract/platform/operation.ts';
import { OPERATIONS } from '../../../harness/contract/platform/operations.ts';
import { type Shape, shape } from '../../../harness/contract/shape.ts';
import { SUPPORTED_VERSIONS, type SupportedVersion } from '../../../harness/contract/versions.ts';
import type { Core } from '../core.ts';
import type { KeyRing } from '../keys.ts';
import { PlatformError } from '../ports.ts';
import type { Renderer } from '../render.ts';
import { HANDLERS } from '../routes/index.ts';
import { type Admitted, admit } from './admission.ts';
import type { Answered } from './call.ts';
import { readJson } from './json-body.ts';
import type { Query } from './query.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

declare module 'fastify' {
  interface FastifyRequest {
    admitted: Admitted | null;
  }
}

/** Throws Error at start when an operation has no handler. */
export function registerRoutes(app: FastifyInstance, core: Core, renderer: Renderer, keys: KeyRing): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.decorateRequest('admitted', null);
  for (const operation of OPERATIONS) {
    const handle = HANDLERS[operation.id];
    if (handle === undefined) throw new Error(`nothing serves ${operation.id}`);
    const bodies = bodyShapes(operation);
    app.route({
      method: operation.method,
      url: operation.path.replace(/\{(\w+)\}/g, ':$1'),
      onRequest: (request, _reply, done) => {
        try {
          request.admitted = admit(core, keys, operation, request.raw.headers);
          done();
        } catch (error) {
          done(error as Error);
        }
      },
      handler: (request, reply) => {
        const admitted = request.admitted as Admitted;
        const answered = handle({
          core,
          renderer,
          operation,
          ...admitted,
          params: request.params as Record<string, string>,
          query: request.query as Query,
          body: readBody(core, operation, bodies.get(admitted.version), request),
        });
        return answered instanceof Promise
          ? answered.then((later) => send(reply, shaped(core, operation.id, later)))
          : send(reply, shaped(core, operation.id, answered));
      },
    });
  }
}

function bodyShapes(operation: Operation): Map<SupportedVersion, Shape> {
  const { body } = operation;
  if (body === undefined) return new Map();
  return new Map(SUPPORTED_VERSIONS.map((version) => [version, shape(`${operation.id} body`, body(version))]));
}

function readBody(core: Core, operation: Operation, expected: Shape | undefined, request: FastifyRequest): unknown {
  if (expected === undefined) return undefined;
  const bytes = request.body as Buffer | undefined;
  if (bytes === undefined || bytes.length === 0) {
    if (operation.bodyOptional) return undefined;
    throw new PlatformError(400, 'invalid_json', 'a JSON body is required');
  }
  const value = core.behaviour.readBody(bytes, readJson);
  const problems = core.behaviour.bodyProblems(operation.id, value, () => expected.problems(value));
  if (problems.length === 0) return value;
  const [first] = problems;
  const at = (first?.path ?? '').slice(1).replaceAll('/', '.');
  const members = Object.keys((expected.schema as { properties?: object }).properties ?? {});
  const where = at === '' ? '' : `${at}: `;
  const accepted = at === '' || at.includes('.') || members.includes(at) ? '' : `; members are ${members.join(', ')}`;
  throw new PlatformError(400, 'invalid_request', `${where}${first?.message}${accepted}`, {
    problems: problems.slice(0, 20),
  });
}

function shaped({ behaviour }: Core, operation: string, answered: Answered): Answered {
  if (behaviour.answer === undefined || answered.json === undefined) return answered;
  const { status, body } = behaviour.answer(operation, {
    status: answered.status ?? 200,
    body: JSON.parse(answered.json),
  });
  return { ...answered, status, json: JSON.stringify(body) };
}

function send(reply: FastifyReply, { status, json, bytes, headers }: Answered): FastifyReply {
  if (status !== undefined) reply.code(status);
  if (headers !== undefined) reply.headers(headers);
  if (json === undefined) return reply.send(bytes);
  reply.header('content-type', JSON_TYPE);
  return reply.send(json);
}
