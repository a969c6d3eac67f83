import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { inVersion, type Operation } from '../../../harness/contract/platform/operation.ts';
import { OPERATIONS } from '../../../harness/contract/platform/operations.ts';
import { type Shape, shape } from '../../../harness/contract/shape.ts';
import { END_OF_LIFE_VERSIONS, SUPPORTED_VERSIONS } from '../../../harness/contract/versions.ts';
import type { Core } from '../core.ts';
import type { KeyRing } from '../keys.ts';
import { PlatformError } from '../ports.ts';
import type { Renderer } from '../render.ts';
import { HANDLERS } from '../routes.ts';
import { type Answered, type Call, type Query, requireScope } from './call.ts';

type Admitted = Pick<Call, 'key' | 'version'>;

type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

function admit(core: Core, keys: KeyRing, operation: Operation, headers: RequestHeaders): Admitted {
  const { behaviour } = core;
  const presented = headerText(headers, 'x-api-key');
  const key = behaviour.authenticate(keys.find(presented), presented, keys.keys, operation.id);
  if (key === undefined) {
    const problem = presented === undefined ? 'the header X-API-Key is missing' : 'the API key is not known';
    throw new PlatformError(401, 'unauthorized', problem);
  }
  const { versionHeader } = core.names;
  const asked = headerText(headers, versionHeader.toLowerCase());
  const version = behaviour.version(asked, operation.id);
  if (version === undefined) {
    const accepted = { header: versionHeader, accepted: SUPPORTED_VERSIONS };
    if (asked === undefined)
      throw new PlatformError(400, 'version_required', `the header ${versionHeader} is missing`, accepted);
    if ((END_OF_LIFE_VERSIONS as readonly string[]).includes(asked))
      throw new PlatformError(400, 'version_end_of_life', `the version ${asked} is no longer supported`, accepted);
    const shown = JSON.stringify(asked.slice(0, 64));
    throw new PlatformError(400, 'version_unknown', `${versionHeader}: ${shown} is no version of this API`, accepted);
  }
  if (!inVersion(operation, version) && !behaviour.servesForeignOperations)
    throw new PlatformError(404, 'unknown_route', `${operation.method} ${operation.path} is no part of ${version}`);
  for (const scope of operation.scopes) requireScope({ core, key }, scope);
  return { key, version };
}

function headerText(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

const DEEPEST = 64;
/** Maximum number of values in a body, because checking more would block all other clients. */
const MOST_VALUES = 10_000;

const refuse = (message: string) => new PlatformError(400, 'invalid_json', message);

export function readJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw refuse('the request body is not valid UTF-8');
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refuse('the request body is not valid JSON');
  }
  checkStructure(text);
  checkText(value);
  return value;
}

/** Refuses deep nesting, too many values, and a repeated member, which JSON.parse accepts. */
function checkStructure(text: string): void {
  const open: (Set<string> | undefined)[] = [];
  let literal = '';
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') {
      let end = at + 1;
      while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
      literal = text.slice(at, end + 1);
      at = end;
    } else if (character === '{' || character === '[') {
      open.push(character === '{' ? new Set() : undefined);
      if (open.length > DEEPEST) throw refuse(`the request body is nested more than ${DEEPEST} levels deep`);
    } else if (character === '}' || character === ']') {
      open.pop();
    } else if (character === ',') {
      values += 1;
      if (values <= MOST_VALUES) continue;
      throw new PlatformError(413, 'body_too_large', `the request body has more than ${MOST_VALUES} members and items`);
    } else if (character === ':') {
      const name = JSON.parse(literal) as string;
      if (open.at(-1)?.has(name)) throw refuse(`the request body names ${JSON.stringify(name.slice(0, 64))} twice`);
      open.at(-1)?.add(name);
    }
  }
}

/** Refuses half a surrogate pair, which UTF-8 cannot encode. */
function checkText(value: unknown): void {
  if (typeof value === 'string' && !value.isWellFormed())
    throw refuse('the request body contains half a surrogate pair');
  if (typeof value !== 'object' || value === null) return;
  for (const item of Array.isArray(value) ? value : Object.entries(value).flat()) checkText(item);
}

declare module 'fastify' {
  interface FastifyRequest {
    admitted: Admitted | null;
  }
}

export function registerRoutes(app: FastifyInstance, core: Core, renderer: Renderer, keys: KeyRing): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.decorateRequest('admitted', null);
  for (const operation of OPERATIONS) {
    const handle = HANDLERS[operation.id];
    if (handle === undefined) throw new Error(`nothing serves ${operation.id}`);
    const bodyIn = operation.body;
    const bodies = new Map(
      SUPPORTED_VERSIONS.map((version) => [version, bodyIn && shape(`${operation.id} body`, bodyIn(version))]),
    );
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
        const params = request.params as Record<string, string>;
        const query = request.query as Query;
        const body = readBody(core, operation, bodies.get(admitted.version), request);
        const answered = handle({ core, renderer, ...admitted, params, query, body });
        const respond = (given: Answered) => send(reply, core, operation.id, given);
        return answered instanceof Promise ? answered.then(respond) : respond(answered);
      },
    });
  }
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

function send(reply: FastifyReply, { behaviour }: Core, operation: string, answered: Answered): FastifyReply {
  const { bytes, headers } = answered;
  let { status, json } = answered;
  if (behaviour.answer !== undefined && json !== undefined) {
    const changed = behaviour.answer(operation, { status: status ?? 200, body: JSON.parse(json) });
    status = changed.status;
    json = JSON.stringify(changed.body);
  }
  if (status !== undefined) reply.code(status);
  if (headers !== undefined) reply.headers(headers);
  if (json === undefined) return reply.send(bytes);
  reply.header('content-type', 'application/json; charset=utf-8');
  return reply.send(json);
}
