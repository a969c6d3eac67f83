/** How a request can end without an answer. */

/** No connection could be made: nothing was decided about the target. */
export class Unreachable extends Error {
  override name = 'Unreachable';
}

/** A connection was made, and closed, reset or left silent before a whole answer came. Checks hold it against the target. */
export class NoAnswer extends Error {
  override name = 'NoAnswer';
}

/** A limit of this machine was reached, such as the number of open files: nothing was decided about the target. */
export class LimitReached extends Error {
  override name = 'LimitReached';
}

const CONNECT_CODES = new Set([
  'ECONNREFUSED',
  'ENOENT',
  'EACCES',
  'EPERM',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'ENOTSOCK',
  'EAGAIN',
  'EPROTOTYPE',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);

/**
 * Sorts what Node and undici throw: errors of connecting and of TLS are Unreachable, all others NoAnswer.
 *
 * @param what the request in words, such as `GET http://localhost/v0.2/health`
 */
export function classify(error: unknown, what: string): Unreachable | NoAnswer {
  const code = codeOf(error);
  const reason = describe(error);
  if (code !== undefined && (CONNECT_CODES.has(code) || code.startsWith('ERR_TLS') || code.includes('CERT'))) {
    return new Unreachable(`${what}: cannot connect (${reason})`, { cause: error });
  }
  return new NoAnswer(`${what}: ${reason}`, { cause: error });
}

function codeOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 4; at = at.cause, depth += 1) {
    if ('code' in at && typeof at.code === 'string') return at.code;
    if (at instanceof AggregateError && at.errors[0] instanceof Error) return codeOf(at.errors[0]);
  }
  return undefined;
}

/** An error in words; those of the connection without codes that say nothing to a reader. */
export function describe(error: unknown): string {
  const code = codeOf(error);
  switch (code) {
    case 'ENOENT':
      return 'no such socket';
    case 'ECONNREFUSED':
      return 'connection refused';
    case 'EACCES':
      return 'permission denied';
    case 'HPE_INVALID_EOF_STATE':
    case 'UND_ERR_SOCKET':
    case 'ECONNRESET':
    case 'EPIPE':
      return 'the connection was closed before a whole answer came';
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return 'its certificate is signed by an authority that is not trusted here; --ca FILE names one to trust';
    case 'UND_ERR_HEADERS_TIMEOUT':
      return 'no answer in time';
    case 'UND_ERR_BODY_TIMEOUT':
      return 'the answer stopped in the middle';
    default:
      return error instanceof Error ? error.message || (code ?? error.name) : String(error);
  }
}
