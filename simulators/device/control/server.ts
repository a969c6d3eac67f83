/** Serves the control API (`harness/contract/control.ts`) over HTTP, on a loopback port or a unix socket. */
import { chmodSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { http } from '../../../harness/common/node-http.ts';
import { controlDeployment, controlPublish, controlStop } from '../../../harness/contract/control.ts';
import type { Shape, TypeOfShape } from '../../../harness/contract/shape.ts';
import { type ControlRefusal, controlRefusal, newControlToken } from '../../common/control-guard.ts';
import {
  bodyText,
  closeAfterUpgrade,
  type Exchange,
  isHttp1,
  isLastWord,
  lastAnswer,
  percentDecoded,
  statusOf,
} from '../../common/malformed.ts';
import { type Listener, listening, listenUnix } from '../transport.ts';
import { ControlError, type ControlTarget, controlError } from './target.ts';

const LARGEST_BODY = 33_554_432;

export type ControlAddress = { port: number } | { path: string };

/** `token`: bearer token of the port, random by default. */
export type ControlOption = { port: number; token?: string } | { path: string };

export interface ControlServer extends AsyncDisposable {
  readonly address: ControlAddress;
  /** Undefined on a unix socket, whose file mode restricts access. */
  readonly token: string | undefined;
  close(): Promise<void>;
}

type Action = (target: ControlTarget, body: string, id: string) => unknown;

const ACTIONS: readonly [method: string, path: RegExp, action: Action][] = [
  ['GET', /^\/$/, (target) => target.info()],
  ['POST', /^\/deployments$/, (target, body) => target.deploy(parsed(body, controlDeployment))],
  ['POST', /^\/deployments\/([^/]+)\/remove$/, (target, _body, id) => target.remove(percentDecoded(id))],
  ['POST', /^\/events$/, (target, body) => target.publish(parsed(body, controlPublish).count)],
  ['POST', /^\/compact$/, (target) => target.compact()],
  ['GET', /^\/log$/, (target) => target.log()],
  ['POST', /^\/stop$/, (target, body) => target.stop(parsed(body, controlStop).signal ?? 'SIGTERM')],
  ['POST', /^\/start$/, (target) => target.start()],
];

/** Rejects for an unusable address, e.g. with Node's system error EADDRINUSE. */
export async function serveControl(target: ControlTarget, where: ControlOption): Promise<ControlServer> {
  const token = 'path' in where ? undefined : (where.token ?? newControlToken());
  const latest = new WeakMap<Duplex, Exchange>();
  const server = http.createServer((request, response) => {
    latest.set(request.socket, { request, response });
    closeAfterUpgrade({ request, response });
    if (!isHttp1(request)) return void response.writeHead(505, { Connection: 'close', 'Content-Length': 0 }).end();
    const refuse = ({ status, code, message }: ControlRefusal | ControlError): void =>
      send(response, status, { error: { code, params: {}, message } });
    const refusal = token === undefined ? undefined : controlRefusal(request, token);
    if (refusal) {
      for (const [name, value] of Object.entries(refusal.headers ?? {})) response.setHeader(name, value);
      refuse(refusal);
      return;
    }
    answer(target, request).then(
      (body) => send(response, body === undefined ? 204 : 200, body),
      (error: unknown) => refuse(controlError(error)),
    );
  });
  server.on('clientError', (error, socket) => {
    const last = latest.get(socket);
    if (socket.writable && !(last !== undefined && isLastWord(last))) socket.write(lastAnswer(statusOf(error)));
    (socket as Socket).destroySoon();
  });
  const serve = (socket: Socket) => void server.emit('connection', socket);
  let listener: Listener | undefined;
  if ('path' in where) listener = await listenUnix(where.path, (path) => chmodSync(path, 0o600), serve);
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

async function answer(target: ControlTarget, request: IncomingMessage): Promise<unknown> {
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
  const here = ACTIONS.filter(([, pattern]) => pattern.test(path));
  const action = here.find(([method]) => method === request.method);
  if (!action) {
    if (here.length === 0) throw new ControlError(404, 'not_found', `the control API has no ${path}`);
    throw new ControlError(405, 'method_not_allowed', `${path} answers ${here.map(([method]) => method).join(', ')}`);
  }
  // Reads the whole body first, so that an aborted request changes nothing.
  const body = await bodyText(request, LARGEST_BODY);
  if (body === undefined) throw new ControlError(413, 'too_large', `a body has at most ${LARGEST_BODY} bytes`);
  const [, pattern, run] = action;
  return await run(target, body, pattern.exec(path)?.[1] ?? '');
}

function send(response: ServerResponse, status: number, body: unknown): void {
  if (body === undefined) return void response.writeHead(status).end();
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': bytes.length }).end(bytes);
}

function parsed<S extends Shape>(text: string, shape: S): TypeOfShape<S> {
  let value: unknown;
  try {
    value = text === '' ? {} : JSON.parse(text);
  } catch {
    throw new ControlError(400, 'invalid_json', 'the body is not JSON');
  }
  if (shape.is(value)) return value as TypeOfShape<S>;
  const problems = shape.problems(value).map(({ path, message }) => `${path === '' ? 'the body' : path} ${message}`);
  throw new ControlError(400, 'invalid_body', problems.join('; '));
}
