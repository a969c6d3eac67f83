/** Refusals and failures as answers. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { Core } from '../core.ts';
import { PlatformError } from '../ports.ts';

/** Maps Fastify's own refusals to error codes of the platform. */
const REFUSALS: Record<string, { status: number; code: string; message: string }> = {
  FST_ERR_CTP_BODY_TOO_LARGE: { status: 413, code: 'body_too_large', message: 'the request body is too large' },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    status: 415,
    code: 'unsupported_media_type',
    message: 'the request body must be application/json',
  },
  FST_ERR_BAD_URL: { status: 400, code: 'invalid_path', message: 'the path is not valid' },
};

/** Answers an error; `onFailure` is called for faults of the platform itself. */
export function answerError(
  core: Core,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  onFailure: (error: unknown, request: FastifyRequest) => void,
): void {
  const facts = factsOf(error);
  if (facts.status >= 500) onFailure(error, request);
  const { status, body } = core.behaviour.error(facts);
  if (facts.status === 405) reply.header('allow', String(facts.params['allowed']));
  reply.code(status).header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(body));
}

function factsOf(error: unknown) {
  if (error instanceof PlatformError) {
    const { status, code, params, message } = error;
    return { status, code, params, message };
  }
  const { code = '', statusCode = 500 } = error as Partial<FastifyError>;
  const known = REFUSALS[code];
  if (known !== undefined) return { ...known, params: {} };
  if (statusCode >= 400 && statusCode < 500) {
    return { status: statusCode, code: 'invalid_request', message: (error as Error).message, params: {} };
  }
  return { status: 500, code: 'internal', message: 'the platform failed to answer', params: {} };
}
