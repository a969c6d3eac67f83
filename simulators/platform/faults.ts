/** Each `rate` is the share of affected requests, from 0 to 1. */
export interface PlatformFaults {
  latency?: { rate: number; milliseconds: number };
  throttle?: { rate: number; retryAfterSeconds: number };
  failure?: { rate: number; status: number };
  reset?: { rate: number };
  /** Body in 16 pieces; `milliseconds`: pause before each piece. */
  slowBody?: { rate: number; milliseconds: number };
}

export const FAULT_FORMS = [
  'latency=MILLISECONDS[@RATE]',
  '429[=RETRY_AFTER_SECONDS][@RATE]',
  '5xx[=STATUS][@RATE]',
  'reset[@RATE]',
  'slow-body[=MILLISECONDS][@RATE]',
] as const;

const FAULTS = new Map<string, (rate: number, value?: number) => PlatformFaults | undefined>([
  ['latency', (rate, ms) => (ms === undefined ? undefined : { latency: { rate, milliseconds: ms } })],
  ['429', (rate, retryAfterSeconds = 1) => ({ throttle: { rate, retryAfterSeconds } })],
  ['5xx', (rate, status = 503) => (status < 500 || status > 599 ? undefined : { failure: { rate, status } })],
  ['reset', (rate, value) => (value === undefined ? { reset: { rate } } : undefined)],
  ['slow-body', (rate, milliseconds = 100) => ({ slowBody: { rate, milliseconds } })],
]);

/** E.g. `latency=200@0.5,429@0.1`. Throws RangeError, which shows the accepted syntax. */
export function parseFaults(text: string): PlatformFaults {
  let faults: PlatformFaults = {};
  for (const part of text.split(',')) {
    const [, name = '', value, rate = '1'] =
      /^([a-z0-9-]+)(?:=(\d{1,6}))?(?:@(0|1|0?\.\d{1,6}|1\.0*))?$/.exec(part.trim()) ?? [];
    const one = FAULTS.get(name)?.(Number(rate), value === undefined ? undefined : Number(value));
    if (!one) throw new RangeError(`${JSON.stringify(part)} is no fault; accepted are ${FAULT_FORMS.join(', ')}`);
    faults = { ...faults, ...one };
  }
  return faults;
}
