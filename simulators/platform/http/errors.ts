import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { http } from '../../../harness/common/node-http.ts';
import { closeAfterUpgrade, isHttp1 } from '../../common/malformed.ts';
import type { ErrorFacts } from '../behaviour.ts';
import type { Core } from '../core.ts';
import { PlatformError } from '../ports.ts';

const REFUSALS: Readonly<Record<string, { status: number; code: string; message: string }>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: { status: 413, code: 'body_too_large', message: 'the request body is too large' },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    status: 415,
    code: 'unsupported_media_type',
    message: 'the request body must be application/json',
  },
  FST_ERR_BAD_URL: { status: 400, code: 'invalid_path', message: 'the path is not valid' },
  HPE_HEADER_OVERFLOW: { status: 431, code: 'headers_too_large', message: 'the request headers are too large' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, code: 'body_too_large', message: 'the chunk extensions are too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, code: 'request_timeout', message: 'the request did not end in time' },
};

type OnFailure = (error: unknown, request: FastifyRequest) => void;

/** Server that answers every error in the format of the platform, and refuses HTTP versions other than 1 with 505. */
export function serverOf(core: Core, options: object, onFailure: OnFailure): FastifyInstance {
  const answer = answerTo(core, onFailure);
  const app = fastify({
    ...options,
    forceCloseConnections: true,
    // Raises fastify's limit of 100 characters for an id; fastify refuses a longer one with 414.
    routerOptions: { maxParamLength: 16_384 },
    frameworkErrors: answer,
  });
  app.setErrorHandler(answer);
  app.addHook('onRequest', (request, reply, done) => {
    closeAfterUpgrade({ request: request.raw, response: reply.raw });
    if (isHttp1(request.raw)) done();
    else done(new PlatformError(505, 'http_version_not_supported', 'requests are of HTTP/1.1'));
  });
  return app;
}

const answerTo =
  (core: Core, onFailure: OnFailure) =>
  (error: unknown, request: unknown, to: unknown): void => {
    const reply = to as FastifyReply;
    const { code = '', statusCode = 500, message = '' } = error as Partial<FastifyError>;
    let facts: ErrorFacts = { status: 500, code: 'internal', message: 'the platform failed to answer', params: {} };
    if (error instanceof PlatformError) facts = { status: error.status, code, params: error.params, message };
    else if (REFUSALS[code] !== undefined) facts = { ...REFUSALS[code], params: {} };
    else if (statusCode >= 400 && statusCode < 500)
      facts = { status: statusCode, code: 'invalid_request', message, params: {} };
    if (facts.status >= 500) onFailure(error, request as FastifyRequest);
    const { status, body } = core.behaviour.error(facts);
    if (facts.status === 405) reply.header('allow', String(facts.params['allowed']));
    if (body === undefined) reply.code(status).send();
    else reply.code(status).header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(body));
  };

/** Answers a malformed request, then closes the connection, because the start of the next request is unknown. */
export function answerClientError(core: Core, error: Error, socket: Socket): void {
  const { code = '' } = error as NodeJS.ErrnoException;
  const current = (socket as Socket & { _httpMessage?: ServerResponse | null })._httpMessage;
  if (code === 'ECONNRESET' || !socket.writable || current?.headersSent) return void socket.destroy();
  const facts = REFUSALS[code] ?? { status: 400, code: 'invalid_request', message: 'this is no HTTP/1.1 request' };
  const { status, body } = core.behaviour.error({ ...facts, params: {} });
  const text = JSON.stringify(body) ?? '';
  const head = [
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ''}`,
    ...(text === '' ? [] : ['content-type: application/json; charset=utf-8']),
    `content-length: ${Buffer.byteLength(text)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
}
