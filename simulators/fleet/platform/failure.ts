/** How a platform fails a fleet, and whether the same request may succeed later. */

/** The platform gave no usable 2xx answer. The message does not contain the API key. */
export class PlatformFailure extends Error {
  override name = 'PlatformFailure';
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  /** Milliseconds that the platform asks to wait; undefined when it does not say. */
  readonly retryAfterMs: number | undefined;
  constructor(status: number, message: string, options?: ErrorOptions & { retryAfterMs?: number | undefined }) {
    super(message, options);
    this.status = status;
    this.retryAfterMs = options?.retryAfterMs;
  }
}

const PASSING = new Set([408, 425, 429]);
/** What a platform does not implement now, it will not a minute later. */
const LASTING = new Set([501, 505]);

/** Whether a busy, throttling or restarting platform answers so. 0: it did not answer. */
export const isPassing = (status: number): boolean =>
  status === 0 || PASSING.has(status) || (status >= 500 && !LASTING.has(status));

/** Nobody listens, or the certificate names somebody else: waiting changes nothing. */
const PERMANENT = /^(ECONNREFUSED|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|ERR_TLS_.*|ERR_SSL_.*|.*CERT.*|UNABLE_TO_.*)$/;

/** Whether the address or the trust behind an error is wrong, as far as one attempt can tell. */
export function isPermanent(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    const each: unknown[] = at instanceof AggregateError ? at.errors : [at];
    if (each.some((one) => PERMANENT.test(String((one as NodeJS.ErrnoException).code)))) return true;
  }
  return false;
}
