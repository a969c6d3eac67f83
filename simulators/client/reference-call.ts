/** The jobs that end by themselves as they are right: every decision that a defect or a variant may replace. */
import { defined } from '../../harness/common/defined.ts';
import { backoffMs } from '../../harness/common/waiting.ts';
import { PING_TIMEOUT_MAXIMUM_NANOS } from '../../harness/contract/limits.ts';
import type { CallBehaviour, Page } from './behaviour.ts';

/** An answer that is no result. */
export class CallFailed extends Error {
  override name = 'CallFailed';
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }
}

const PAGE = 50;
const PING_NANOS = 2_000_000_000;
/** What an answer may take beyond the time in which a device answers. */
const ANSWER_MS = 20_000;
const RETRY = { firstMs: 200, longestMs: 5000, jitter: 0.3 };
const ATTEMPTS = 3;
/** Too many requests, service unavailable. */
const BUSY = [429, 503];

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isPage = (value: unknown): value is Page & Record<string, unknown> =>
  isObject(value) &&
  Array.isArray(value['data']) &&
  value['data'].every(isObject) &&
  typeof value['has_more'] === 'boolean' &&
  Number.isInteger(value['limit']) &&
  Number.isInteger(value['offset']);

/** Members of a JSON object, or a failure that names the status. */
export function objectOf(text: string, status: number): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Told below, as anything else that is no object.
  }
  throw new CallFailed('the answer is no JSON object', status);
}

export const calls: CallBehaviour = {
  access: ({ key, version }) => ({ 'X-API-Key': key, 'Service-Version': version }),
  address: (path) => path,
  keepsAlive: false,
  redirected: () => undefined,
  answerMs: (nanos = 0) => ANSWER_MS + nanos / 1e6,
  retry: ({ purpose, status, attempt, retryAfterMs }) => {
    // A deployment whose answer is lost may have been created.
    const again = status === undefined ? purpose !== 'deploy' : BUSY.includes(status);
    if (!again || attempt >= ATTEMPTS) return undefined;
    return Math.max(retryAfterMs ?? 0, backoffMs(RETRY, attempt, Math.random));
  },
  value: ({ status, text }) => {
    if (status < 200 || status > 299) throw new CallFailed(`the server answered ${status}`, status);
    return objectOf(text, status);
  },
  failed: (error) => {
    const message = error instanceof Error ? error.message : String(error);
    const status = error instanceof CallFailed && error.status !== undefined ? { status: error.status } : {};
    return { lines: [{ saw: 'error', message, ...status }], complaint: message, code: 1 };
  },
  greeting: () => '',
  limit: (wanted) => wanted ?? PAGE,
  query: ({ limit, offset }) => ({ ...(limit === undefined ? {} : { limit: String(limit) }), offset: String(offset) }),
  page: (value) => {
    if (isPage(value)) return value;
    throw new CallFailed('the answer is no page of a list');
  },
  next: ({ limit, offset, has_more }) => (has_more ? [{ limit, offset: offset + limit }] : []),
  items: ({ data }) => data,
  ping: (wanted = PING_NANOS) => ({
    headers: { 'Content-Type': 'application/json' },
    body: { timeout_nanos: Math.min(wanted, PING_TIMEOUT_MAXIMUM_NANOS) },
  }),
  pong: ({ code, round_trip_nanos }) => ({
    code: String(code),
    ...defined({ round_trip_nanos }),
  }),
  deployment: (device_id, release_id) => ({ device_id, release_id, target_status: 'deployed' }),
  deployments: 1,
  shown: (deployment) => deployment,
};
