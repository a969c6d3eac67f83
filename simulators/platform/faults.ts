/**
 * Faults that a platform can inject: off by default, seeded, named. They affect the Platform API, not the agent side.
 */

/** Each with the share of requests that it hits, 0 to 1. */
export interface PlatformFaults {
  /** Delays the answer. */
  latency?: { rate: number; milliseconds: number };
  /** 429 with Retry-After. */
  throttle?: { rate: number; retryAfterSeconds: number };
  /** A server error. */
  failure?: { rate: number; status: number };
  /** The connection is reset instead of an answer. */
  reset?: { rate: number };
  /** Sends the body in small pieces with this pause between them. */
  slowBody?: { rate: number; milliseconds: number };
}

export const FAULT_FORMS = [
  'latency=MILLISECONDS[@RATE]',
  '429[=RETRY_AFTER_SECONDS][@RATE]',
  '5xx[=STATUS][@RATE]',
  'reset[@RATE]',
  'slow-body[=MILLISECONDS][@RATE]',
] as const;

/** Reads e.g. `latency=200@0.5,429@0.1`. Throws RangeError with the accepted forms. */
export function parseFaults(text: string): PlatformFaults {
  let faults: PlatformFaults = {};
  for (const part of text.split(',')) {
    const found = /^([a-z0-9-]+)(?:=(\d{1,6}))?(?:@(0|1|0?\.\d{1,6}|1\.0*))?$/.exec(part.trim());
    const one = found && parseOne(found[1] ?? '', number(found[2]), number(found[3]) ?? 1);
    if (!one) throw new RangeError(`${JSON.stringify(part)} is no fault; accepted are ${FAULT_FORMS.join(', ')}`);
    faults = { ...faults, ...one };
  }
  return faults;
}

const number = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));

function parseOne(name: string, value: number | undefined, rate: number): PlatformFaults | undefined {
  switch (name) {
    case 'latency':
      return value === undefined ? undefined : { latency: { rate, milliseconds: value } };
    case '429':
      return { throttle: { rate, retryAfterSeconds: value ?? 1 } };
    case '5xx': {
      const status = value ?? 503;
      return status < 500 || status > 599 ? undefined : { failure: { rate, status } };
    }
    case 'reset':
      return value === undefined ? { reset: { rate } } : undefined;
    case 'slow-body':
      return { slowBody: { rate, milliseconds: value ?? 100 } };
    default:
      return undefined;
  }
}
