import { StringDecoder } from 'node:string_decoder';
import { defined } from '../../harness/common/defined.ts';
import { isObject, parseObject } from '../../harness/common/lenient.ts';
import { retryAfterMs } from '../../harness/common/units.ts';
import { backoffMs } from '../../harness/common/waiting.ts';
import { CALL_JOBS, filledIn, jobOf } from '../../harness/contract/client.ts';
import { PING_TIMEOUT_MAXIMUM_NANOS } from '../../harness/contract/lists.ts';
import {
  type CallBehaviour,
  CallFailed,
  type ClientBehaviour,
  type FollowBehaviour,
  type JobBehaviour,
  type Page,
  type Place,
  type PlainJob,
  type StreamBehaviour,
} from './behaviour.ts';

/** Lines end at LF, CR LF or CR, also across chunks. */
export function lineSplitter(): (text: string) => string[] {
  let rest: string[] = [];
  let afterReturn = false;
  return (text) => {
    const news = afterReturn && text.startsWith('\n') ? text.slice(1) : text;
    if (text !== '') afterReturn = text.endsWith('\r');
    const lines = news.split(/\r\n|\r|\n/);
    const last = lines.pop() ?? '';
    const [first, ...others] = lines;
    if (first === undefined) {
      rest.push(last);
      return [];
    }
    const whole = [rest.join('') + first, ...others];
    rest = [last];
    return whole;
  };
}

export function field(line: string): { name: string; value: string } | undefined {
  const colon = line.indexOf(':');
  if (colon === 0) return undefined;
  if (colon === -1) return { name: line, value: '' };
  const value = line.slice(colon + 1);
  return { name: line.slice(0, colon), value: value.startsWith(' ') ? value.slice(1) : value };
}

function stream(): StreamBehaviour {
  const utf8 = new StringDecoder('utf8');
  let begun = false;
  return {
    decode: (bytes) => {
      const text = utf8.write(bytes);
      if (begun || text === '') return text;
      begun = true;
      return text.startsWith('\uFEFF') ? text.slice(1) : text;
    },
    lines: lineSplitter(),
    field,
    join: (lines) => lines.join('\n'),
    isDispatched: ({ data }) => data !== '',
    idOf: (value, before) => (value.includes('\0') ? before : value),
    idAtOnce: false,
    atEnd: 'drop',
  };
}

const RETRY = { firstMs: 200, longestMs: 5000, jitter: 0.3 };

/** True if a discovery file has the members that a client needs (section 5 of the specification). */
const isPlace = (value: unknown): value is Place & Record<string, unknown> =>
  isObject(value) && Number.isInteger(value['port']) && typeof value['token'] === 'string' && value['token'] !== '';

const follow: FollowBehaviour = {
  request: (path, cursor) => ({
    path,
    headers: { accept: 'text/event-stream', ...defined({ 'last-event-id': cursor }) },
  }),
  types: (wanted) => (wanted === undefined ? '' : `types=${encodeURIComponent(wanted)}`),
  envelope: ({ data }) => parseObject(data),
  typeOf: ({ type }) => (typeof type === 'string' ? type : undefined),
  idOf: (_, block) => block.id,
  handsOnAfterMs: 0,
  mostEvents: Number.POSITIVE_INFINITY,
  deduplicates: true,
  cursor: ({ id }) => (id === '' ? undefined : id),
  reconnect: ({ attempt, retryMs, retryAfterMs }) =>
    Math.max(retryAfterMs ?? 0, retryMs ?? 0, backoffMs(RETRY, attempt, Math.random)),
  expired: () => ({ told: true, cursor: undefined }),
  silenceMs: (seconds) => 3 * seconds * 1000,
  show: (line) => [JSON.stringify(line)],
  discover: (read) => {
    try {
      const value: unknown = JSON.parse(read());
      return isPlace(value) ? value : undefined;
    } catch {
      return undefined;
    }
  },
  credentials: (token) => (token === undefined ? {} : { authorization: `Bearer ${token}` }),
  redirected: () => undefined,
  reads: (contentType) => contentType.startsWith('text/event-stream'),
};

const JSON_TYPE = { 'Content-Type': 'application/json' };

const isPage = (value: unknown): value is Page & Record<string, unknown> =>
  isObject(value) &&
  Array.isArray(value['data']) &&
  value['data'].every(isObject) &&
  typeof value['has_more'] === 'boolean' &&
  Number.isInteger(value['limit']) &&
  Number.isInteger(value['offset']);

/** Throws CallFailed with the HTTP `status` if the text is no JSON object. */
export function objectOf(text: string, status: number): Record<string, unknown> {
  const value = parseObject(text);
  if (value === undefined) throw new CallFailed('the answer is no JSON object', status);
  return value;
}

const calls: CallBehaviour = {
  access: ({ key, version }) => ({ 'X-API-Key': key, 'Service-Version': version }),
  address: (path) => path,
  keepsAlive: false,
  redirected: () => undefined,
  // One minute for a busy machine, beyond the time that a ping allows the device.
  answerMs: (nanos = 0) => 60_000 + nanos / 1e6,
  askedToWait: retryAfterMs,
  retry: ({ job, status, attempt, retryAfterMs }) => {
    const again = status === undefined ? jobOf(job).request.isOnce !== true : status === 429 || status === 503;
    if (!again || attempt >= 3) return undefined;
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
  limit: (wanted) => wanted ?? 50,
  query: ({ limit, offset }) => ({ ...(limit === undefined ? {} : { limit: String(limit) }), offset: String(offset) }),
  page: (value) => {
    if (isPage(value)) return value;
    throw new CallFailed('the answer is no page of a list');
  },
  next: ({ limit, offset, has_more }) => (has_more ? [{ limit, offset: offset + limit }] : []),
  items: ({ data }) => data,
};

function plainJob(job: PlainJob): JobBehaviour {
  const { request, claim } = jobOf(job);
  const { body } = request;
  const members = Object.keys(claim).filter((name) => name !== 'saw');
  const [only = ''] = members;
  return {
    requests: 1,
    headers: body === undefined ? {} : JSON_TYPE,
    body: (wanted) =>
      body && Object.fromEntries(Object.entries(body).map(([name, value]) => [name, filledIn(value, wanted)])),
    shown: (value) =>
      members.length === 1
        ? { [only]: value }
        : defined(Object.fromEntries(members.map((name) => [name, value[name]]))),
  };
}

const PLAIN_JOBS = CALL_JOBS.filter((job): job is PlainJob => job !== 'list');

const jobs = {
  ...(Object.fromEntries(PLAIN_JOBS.map((job) => [job, plainJob(job)])) as Record<PlainJob, JobBehaviour>),
  ping: {
    ...plainJob('ping'),
    headers: JSON_TYPE,
    body: ({ pingNanos = 2e9 }) => ({ timeout_nanos: Math.min(Number(pingNanos), PING_TIMEOUT_MAXIMUM_NANOS) }),
    shown: ({ code, round_trip_nanos }) => ({ code: String(code), ...defined({ round_trip_nanos }) }),
  },
} satisfies ClientBehaviour['jobs'];

export const referenceBehaviour: ClientBehaviour = { stream, follow, calls, jobs };
