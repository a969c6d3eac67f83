/** The control API over HTTP, on a loopback port or a unix socket (`harness/contract/control.ts`). */
import { chmodSync } from 'node:fs';
import http from 'node:http';
import { controlDeployment, controlPublish, controlStop } from '../../../harness/contract/control.ts';
import type { Of, Shape } from '../../../harness/contract/shape.ts';
import { controlRefusal, newControlToken } from '../../common/control-guard.ts';
import { percentDecoded } from '../../common/percent.ts';
import { type Listener, listening } from '../transport/transport.ts';
import { listenUnix } from '../transport/unix.ts';
import { ControlError, type ControlTarget, controlError } from './target.ts';

/** Bytes. */
const LARGEST_BODY = 33_554_432;

/** A port of 127.0.0.1 (0 for a free one), or the path of a unix socket. */
export type ControlAddress = { port: number } | { path: string };

/** Where to serve. On a port every request has to carry `token`; default: a new one. */
export type ControlOption = { port: number; token?: string } | { path: string };

/** A control API that is served. */
export interface ControlServer extends AsyncDisposable {
  readonly address: ControlAddress;
  /** What requests carry as `Authorization: Bearer TOKEN`; undefined on a unix socket, whose mode says who may open it. */
  readonly token: string | undefined;
  close(): Promise<void>;
}

type Action = (target: ControlTarget, request: http.IncomingMessage, id: string) => Promise<unknown> | unknown;

const ACTIONS: readonly [method: string, path: RegExp, action: Action][] = [
  ['GET', /^\/$/, (target) => target.info()],
  ['POST', /^\/deployments$/, async (target, request) => target.deploy(await bodyOf(request, controlDeployment))],
  ['POST', /^\/deployments\/([^/]+)\/remove$/, (target, _request, id) => target.remove(percentDecoded(id))],
  ['POST', /^\/events$/, async (target, request) => target.publish((await bodyOf(request, controlPublish)).count)],
  ['POST', /^\/compact$/, (target) => target.compact()],
  ['GET', /^\/log$/, (target) => target.log()],
  [
    'POST',
    /^\/stop$/,
    async (target, request) => target.stop((await bodyOf(request, controlStop)).signal ?? 'SIGTERM'),
  ],
  ['POST', /^\/start$/, (target) => target.start()],
];

/** Serves until it is closed. Rejects with the system's error when the address cannot be used. */
export async function serveControl(target: ControlTarget, where: ControlOption): Promise<ControlServer> {
  const token = 'path' in where ? undefined : (where.token ?? newControlToken());
  const server = http.createServer((request, response) => {
    const refusal = token === undefined ? undefined : controlRefusal(request, token);
    if (refusal) {
      const { status, code, message, headers = {} } = refusal;
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      send(response, status, { error: { code, params: {}, message } });
      return;
    }
    answer(target, request).then(
      ({ status, body }) => send(response, status, body),
      (error: unknown) => {
        const { status, code, message } = controlError(error);
        send(response, status, { error: { code, params: {}, message } });
      },
    );
  });
  let listener: Listener | undefined;
  if ('path' in where)
    listener = await listenUnix(
      where.path,
      (path) => chmodSync(path, 0o600),
      (socket) => void server.emit('connection', socket),
    );
  else await listening(server, { port: where.port, host: '127.0.0.1' });
  const bound = server.address();
  const address = 'path' in where ? where : { port: typeof bound === 'object' && bound ? bound.port : where.port };
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= new Promise((resolve) => {
      listener?.close();
      server.close(() => resolve());
      server.closeAllConnections();
      if (listener) resolve();
    });
    return closing;
  };
  return { address, token, close, [Symbol.asyncDispose]: close };
}

async function answer(
  target: ControlTarget,
  request: http.IncomingMessage,
): Promise<{ status: number; body: unknown }> {
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
  const here = ACTIONS.filter(([, pattern]) => pattern.test(path));
  const action = here.find(([method]) => method === request.method);
  if (!action) {
    if (here.length === 0) throw new ControlError(404, 'not_found', `the control API has no ${path}`);
    throw new ControlError(405, 'method_not_allowed', `${path} answers ${here.map(([method]) => method).join(', ')}`);
  }
  const [, pattern, run] = action;
  const body = await run(target, request, pattern.exec(path)?.[1] ?? '');
  return { status: body === undefined ? 204 : 200, body };
}

function send(response: http.ServerResponse, status: number, body: unknown): void {
  if (body === undefined) {
    response.writeHead(status).end();
    return;
  }
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': bytes.length }).end(bytes);
}

async function bodyOf<S extends Shape>(request: http.IncomingMessage, shape: S): Promise<Of<S>> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > LARGEST_BODY) throw new ControlError(413, 'too_large', `a body has at most ${LARGEST_BODY} bytes`);
    parts.push(part);
  }
  const text = Buffer.concat(parts).toString('utf8');
  let value: unknown;
  try {
    value = text === '' ? {} : JSON.parse(text);
  } catch {
    throw new ControlError(400, 'invalid_json', 'the body is not JSON');
  }
  if (shape.is(value)) return value as Of<S>;
  const problems = shape.problems(value).map(({ path, message }) => `${path === '' ? 'the body' : path} ${message}`);
  throw new ControlError(400, 'invalid_body', problems.join('; '));
}
