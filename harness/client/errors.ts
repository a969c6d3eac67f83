/** Errors of requests without a complete answer; each class tells whether the target is at fault. */
import { NamedError } from '../common/usage.ts';

/** Failed connection; a check cannot judge the target. */
export class Unreachable extends NamedError {}

/** Fault of the target: no complete HTTP answer. */
export class NoAnswer extends NamedError {}

/** Resource limit of this machine, e.g. open files; a check cannot judge the target. */
export class LimitReached extends NamedError {}

/**
 * Throws the only error, or an AggregateError. Several LimitReached become one LimitReached, because the stack of an
 * AggregateError would suggest a fault of Muster.
 */
export function throwAll(errors: readonly unknown[]): void {
  if (errors.length === 0) return;
  if (errors.length === 1) throw errors[0];
  if (errors.every((one) => one instanceof LimitReached))
    throw new LimitReached(errors.map(({ message }) => message).join('; '), { cause: errors[0] });
  throw new AggregateError(errors, errors.map(String).join('; '));
}

export class NoAnswerInTime extends NoAnswer {}

/** Answer or event above a size limit, or answer still coming at the time limit; a check cannot judge the target. */
export class Unfinished extends NamedError {}

/** Body above the size limit; a finding where every correct target gives a short one, e.g. a single deployment. */
export class BodyTooLarge extends Unfinished {}

const LIMITS: Readonly<Record<string, string>> = {
  EMFILE: 'this process may open no more files; raise `ulimit -n`',
  ENFILE: 'this machine may open no more files; raise `fs.file-max`',
  ENOBUFS: 'this machine has no buffers left for another connection',
  ENOMEM: 'this machine has no memory left',
  EADDRNOTAVAIL: 'this machine has no free port left for another connection',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
};

const CONNECT_CODES = new Set([
  ...['ECONNREFUSED', 'ENOENT', 'EACCES', 'EPERM', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN'],
  ...['ENOTSOCK', 'EAGAIN', 'EPROTO', 'EPROTOTYPE', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
]);

const TARGET_CODES = new Set(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'ERR_STREAM_PREMATURE_CLOSE']);

const CLOSED = 'the connection was closed before a whole answer came';
const NOT_MADE = 'the connection was closed before its TLS handshake was over';
const UNTRUSTED = 'its certificate is signed by an authority that is not trusted here; --ca FILE names one to trust';

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'no such socket',
  ECONNREFUSED: 'connection refused',
  EACCES: 'permission denied',
  HPE_INVALID_EOF_STATE: CLOSED,
  ECONNRESET: CLOSED,
  EPIPE: CLOSED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  ERR_SSL_WRONG_VERSION_NUMBER: 'the answer is not TLS; for a server without TLS, use http:// in its address',
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: 'it speaks neither TLS 1.2 nor TLS 1.3',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'it speaks neither TLS 1.2 nor TLS 1.3',
  'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE':
    'it refused the TLS handshake: it demands a certificate of the client, or knows no cipher of this machine',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'it demands a certificate of the client, and Muster shows none',
};

export function notConnected(error: unknown): Unreachable {
  const isClosed = ['ECONNRESET', 'EPIPE'].includes(codeOf(error) ?? '');
  return new Unreachable(isClosed ? NOT_MADE : describe(error), { cause: error });
}

/** Sorts an error into Unreachable, LimitReached or NoAnswer; leaves a defect of Muster unchanged. `what`: request. */
export function classify(error: unknown, what: string): Error {
  const code = codeOf(error) ?? '';
  const limit = limitIn(error);
  if (limit !== undefined) return new LimitReached(`${what}: ${limit}`, { cause: error });
  // Compares the name, too, because llhttp's errors sometimes lack a code.
  const isBadHttp = [...causesOf(error)].some(
    (at) => at.name === 'HTTPParserError' || ('code' in at && String(at.code).startsWith('HPE_')),
  );
  if (isConnecting(error) || CONNECT_CODES.has(code) || code.startsWith('ERR_TLS') || code.includes('CERT'))
    return new Unreachable(`${what}: cannot connect (${describe(error)})`, { cause: error });
  // ERR_SSL codes mean a broken TLS record or a TLS alert from the target.
  if (TARGET_CODES.has(code) || code.startsWith('ERR_SSL_') || isBadHttp)
    return new NoAnswer(`${what}: ${describe(error)}`, { cause: error });
  return errorOf(error);
}

/** Throws LimitReached for a limit of this machine, e.g. a full disk. */
export function writingTo(place: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    const limit = classify(error, `${place} was not written`);
    throw limit instanceof LimitReached ? limit : error;
  }
}

export const errorOf = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));

export function limitIn(error: unknown): string | undefined {
  const code = codeOf(error) ?? '';
  const limit = LIMITS[code];
  return limit === undefined ? undefined : `${limit} (${code})`;
}

function* causesOf(error: unknown): Generator<Error> {
  for (let at = error, depth = 0; at instanceof Error && depth < 4; at = at.cause, depth += 1) yield at;
}

export function codeOf(error: unknown): string | undefined {
  for (const at of causesOf(error)) {
    if ('code' in at && typeof at.code === 'string') return at.code;
    if (at instanceof AggregateError && at.errors[0] instanceof Error) return codeOf(at.errors[0]);
  }
  return undefined;
}

export const nothingListens = (error: unknown): boolean => ['ECONNREFUSED', 'ENOENT'].includes(codeOf(error) ?? '');

export const wasClosed = (error: unknown): boolean => !isConnecting(error) && WORDS[codeOf(error) ?? ''] === CLOSED;

const isConnecting = (error: unknown): boolean =>
  [...causesOf(error)].some((at) => at instanceof Unreachable || ('syscall' in at && at.syscall === 'connect'));

export function describe(error: unknown): string {
  if (error instanceof Unreachable) return error.message;
  const code = codeOf(error);
  const words = WORDS[code ?? ''];
  if (words !== undefined) return words;
  // Shows OpenSSL's `reason`, because OpenSSL's message contains memory addresses and source lines.
  if (error instanceof Error && 'reason' in error && code?.startsWith('ERR_SSL_') === true)
    return `TLS: ${String(error.reason)}`;
  return error instanceof Error ? error.message || (code ?? error.name) : String(error);
}
