/** Requests that need an answer: silence or a dropped connection is a finding about the target. */

import fc from 'fast-check';
import { NoAnswer } from '../../../harness/client/errors.ts';
import type { Happening } from '../../../harness/client/happening.ts';
import type { HttpClient, HttpRequest, HttpResponse } from '../../../harness/client/http.ts';
import { requestText } from '../../../harness/client/raw.ts';
import { retryAfterMs } from '../../../harness/common/durations.ts';
import { backoffMs } from '../../../harness/common/waiting.ts';
import { countInWords } from '../../../harness/runner/results.ts';
import { Fact, retryThrottled, SHORTEST_PAUSE_MS } from '../../../harness/runner/session.ts';
import { isObject } from '../../json.ts';
import { type Device, inTime } from './check.ts';

export const CURRENT = '/deployments/current';

interface Answer {
  status: number;
  headers: Readonly<Record<string, string>>;
}

export const isThrottled = ({ status }: Pick<Answer, 'status'>): boolean => status === 429 || status === 503;

interface RetryOptions<A> {
  /** True if the throttling may end soon, e.g. with a stream of another check; `Retry-After` is then ignored. */
  mayClear?: () => boolean;
  /** True if waiting is useless, because this check itself causes the throttling. */
  ownDoing?: () => boolean;
  discard?: (answer: A) => Promise<void>;
}

/** Retries a throttled request while the throttling may end, or while the device sends `Retry-After`. */
export function retryWhileThrottled<A extends Answer>(
  { signal, patienceMs }: Device,
  send: () => Promise<A>,
  { mayClear = () => false, ownDoing = () => false, discard = async () => {} }: RetryOptions<A> = {},
): Promise<A> {
  return retryThrottled<A>(send, {
    signal,
    isThrottled,
    discard,
    pauseMs: ({ headers }, attempt) => {
      const namedMs = retryAfterMs(headers);
      const soonMs = backoffMs({ firstMs: SHORTEST_PAUSE_MS, longestMs: 2000 }, attempt);
      if (mayClear()) return Math.min(soonMs, patienceMs);
      if (namedMs === undefined || ownDoing()) return undefined;
      return Math.min(Math.max(namedMs, SHORTEST_PAUSE_MS), patienceMs);
    },
  });
}

export async function request(
  t: Device,
  request: HttpRequest,
  expected = 'an answer',
  http: HttpClient = t.http,
): Promise<HttpResponse> {
  try {
    return await retryWhileThrottled(t, () =>
      inTime(t, 'answer', (within) => http.request({ timeoutMs: within, ...request })),
    );
  } catch (error) {
    if (!(error instanceof NoAnswer) || t.signal.aborted) throw error;
    t.must(false, { expected, actual: error.message });
    throw error;
  }
}

/** Maximum milliseconds until a device notices that a client has closed a stream. */
export const noticedMs = ({ session, patienceMs }: Pick<Device, 'session' | 'patienceMs'>): number =>
  Math.max(2000, Math.min(5 * session.waits.device.slowestMs('stream'), patienceMs));

export interface HeldStream extends Answer {
  readonly ended: { at: number } | undefined;
  close(): Promise<void>;
}

class OpenStreams {
  readonly #streams = new Set<HeldStream>();
  #lastServedAt = Number.NEGATIVE_INFINITY;
  most = 0;
  isScarce = false;
  #turns: Promise<unknown> = Promise.resolve();

  add(stream: HeldStream): void {
    this.#streams.add(stream);
    if (stream.status === 200) this.#lastServedAt = performance.now();
    this.most = Math.max(this.most, this.count);
  }

  remove(streams: readonly HeldStream[]): void {
    for (const stream of streams) this.#streams.delete(stream);
    if (streams.some(({ status }) => status === 200)) this.#lastServedAt = performance.now();
  }

  get count(): number {
    return countOpen(this.#streams);
  }

  /** True if a stream has closed within these milliseconds, so that the device may still count the stream. */
  justClosed(withinMs: number): boolean {
    const since = performance.now() - withinMs;
    const isRecent = ({ status, ended }: HeldStream): boolean =>
      status === 200 && ended !== undefined && ended.at > since;
    return this.#lastServedAt > since || [...this.#streams].some(isRecent);
  }

  mayBeInTheWay(withinMs: number): boolean {
    return this.count > 0 || this.justClosed(withinMs);
  }

  /** Runs throttled checks one at a time, because two checks could wait forever for each other's streams. */
  inTurn<T>(run: () => Promise<T>): Promise<T> {
    const turn = this.#turns.then(run);
    this.#turns = turn.catch(() => {});
    return turn;
  }
}
export const OPEN_STREAMS = new Fact(() => new OpenStreams());

export const servesFew = (streams: number): string =>
  `the device serves no more than ${countInWords('stream', streams)} at once`;

export const countOpen = (streams: Iterable<HeldStream>): number =>
  [...streams].filter(({ status, ended }) => status === 200 && ended === undefined).length;

export function objectOf(response: HttpResponse): Record<string, unknown> | undefined {
  return isObject(response.json) ? response.json : undefined;
}

export const mediaType = (headers: Readonly<Record<string, string>>): string =>
  (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';

export const isEventStream = ({ headers }: Pick<Answer, 'headers'>): boolean =>
  mediaType(headers) === 'text/event-stream';

export function describeResponse(response: Pick<HttpResponse, 'status' | 'headers' | 'text'>): string {
  const type = mediaType(response.headers);
  return `${response.status}${type === '' ? '' : ` ${type}`} ${JSON.stringify(response.text.slice(0, 300))}`;
}

const NO_DEPLOYMENT = new Set([204, 404, 409, 410, 503]);

/** Accepts every plausible answer of a device without a deployment, because the specification names none. */
export const meansNoDeployment = (response: HttpResponse): boolean =>
  NO_DEPLOYMENT.has(response.status) || (response.status === 200 && response.json === null);

export const isServed = (response: HttpResponse): boolean => response.status === 200 || meansNoDeployment(response);

/** Recognizes a deployment by its members, because a server may answer every path with 200. */
export function isDeployment(response: HttpResponse | undefined): boolean {
  if (response?.status !== 200) return false;
  const { id, activity_status } = objectOf(response) ?? {};
  return typeof id === 'string' && typeof activity_status === 'string';
}

export function deploymentIn(seen: Happening): Record<string, unknown> | undefined {
  if (seen.kind !== 'answer' || seen.asked.method !== 'GET' || seen.answer.status !== 200) return undefined;
  const isAsked = seen.path.split('?', 1)[0]?.endsWith(CURRENT) === true;
  return isAsked && isObject(seen.answer.json) ? seen.answer.json : undefined;
}

export async function currentDeployment(t: Device, http?: HttpClient): Promise<Record<string, unknown> | undefined> {
  const response = await request(t, { path: CURRENT }, 'an answer to GET /deployments/current', http);
  if (meansNoDeployment(response)) return undefined;
  const body = objectOf(response);
  t.must(response.status === 200 && body !== undefined, {
    expected: '200 with a JSON object, a Deployment (or 404 while the device has no deployment)',
    actual: describeResponse(response),
  });
  return body;
}

export interface OddRequest {
  name: string;
  parts: (string | Buffer)[];
  /** Number of answers that the device must send, unless it may hang up. Default: 1. */
  answers?: number;
  methods?: string[];
  mayHangUp?: boolean;
  accepts?(status: number): boolean;
}

export const rejected = (status: number): boolean =>
  (status >= 400 && status < 500) || status === 501 || status === 505;
export const noServerError = (status: number): boolean => status < 500 || status === 501 || status === 505;

export const wholeRequest = (http: HttpClient): string => requestText(http, { target: http.basePath + CURRENT });

const LONG = 'x'.repeat(64 * 1024);

type Odd = (name: string, request: Parameters<typeof requestText>[1], extras?: Partial<OddRequest>) => OddRequest;

const TAKEN = { accepts: noServerError };
const HUNG_UP = { mayHangUp: true };
const TAKEN_OR_HUNG_UP = { ...TAKEN, ...HUNG_UP };

export function oddRequests(http: HttpClient): OddRequest[] {
  const { basePath } = http;
  const odd: Odd = (name, request, extras) => ({ name, parts: [requestText(http, request)], ...extras });
  return [
    ...oddMethods(basePath, odd),
    ...oddPaths(basePath, odd),
    ...oddHeaders(basePath + CURRENT, odd),
    ...oddBytes(basePath + CURRENT, odd, wholeRequest(http)),
  ];
}

const oddMethods = (base: string, odd: Odd): OddRequest[] => [
  ...['DELETE', 'PUT', 'PATCH', 'POST', 'BREW', 'get'].map((method) =>
    odd(
      `${method} ${CURRENT}`,
      { method, target: base + CURRENT, headers: ['Content-Length: 0'] },
      { methods: [method] },
    ),
  ),
  odd('POST /events', { method: 'POST', target: `${base}/events`, headers: ['Content-Length: 0'] }),
  ...[CURRENT, '/events'].map((path) =>
    odd(`HEAD ${path}`, { method: 'HEAD', target: base + path }, { methods: ['HEAD'], ...TAKEN }),
  ),
  odd(`OPTIONS ${CURRENT}`, { method: 'OPTIONS', target: base + CURRENT }, TAKEN),
];

const oddPaths = (base: string, odd: Odd): OddRequest[] => [
  odd('a path that does not exist', { target: `${base}/nonsense` }),
  odd('a path of 64 KiB', { target: `${base}/${LONG}` }, HUNG_UP),
  odd('a query of 64 KiB', { target: `${base}${CURRENT}?q=${LONG}` }, TAKEN_OR_HUNG_UP),
  odd('a path with bad escapes', { target: `${base}/deployments/%zz%` }),
  // Accepts a redirect to the normalized path.
  odd(
    'a path that climbs',
    { target: `${base}/../../etc/passwd` },
    { accepts: (status) => status >= 300 && noServerError(status) },
  ),
];

function oddHeaders(target: string, odd: Odd): OddRequest[] {
  const thousand = Array.from({ length: 1000 }, (_, index) => `X-${index}: 1`);
  const lengths = ['Content-Length: 1', 'Content-Length: 2'];
  return [
    odd('a header of 1 MiB', { target, headers: [`X-Long: ${LONG.repeat(16)}`] }, TAKEN_OR_HUNG_UP),
    odd('a thousand headers', { target, headers: thousand }, TAKEN_OR_HUNG_UP),
    odd('a header without colon', { target, headers: ['nonsense'] }, HUNG_UP),
    odd('a header name with a space', { target, headers: ['X Y: 1'] }, HUNG_UP),
    odd('a header value with a NUL', { target, headers: ['X-Y: a\0b'] }, TAKEN_OR_HUNG_UP),
    odd('two lengths', { target, headers: lengths, body: 'ab' }, HUNG_UP),
  ];
}

function oddBytes(target: string, odd: Odd, whole: string): OddRequest[] {
  const foreign = [Buffer.from('160301020001000001fc0303', 'hex'), '\r\n\r\n'];
  const halves = [whole.slice(0, whole.length / 2), whole.slice(whole.length / 2)];
  const headers = ['Content-Type: application/json', 'Content-Length: 2'];
  return [
    odd('HTTP/9.9', { target, version: 'HTTP/9.9' }, HUNG_UP),
    { name: 'bytes that are not HTTP', parts: foreign, ...HUNG_UP },
    odd('a body where none belongs', { target, headers, body: '{}' }, TAKEN),
    { name: 'three requests in one piece', parts: [whole.repeat(3)], answers: 3, ...TAKEN },
    { name: 'a request byte by byte', parts: [...whole], ...TAKEN },
    { name: 'a request in two pieces', parts: halves, ...TAKEN },
  ];
}

export const headersWithoutToken = (token: string): (string | undefined)[] =>
  [
    undefined,
    'Bearer',
    'Bearer null',
    'Bearer *',
    'Basic Og==',
    `Bearer ${token.slice(0, Math.ceil(token.length / 2))}`,
    `Bearer ${token.slice(0, -2)}`,
    `Bearer ${token.slice(0, 1)}`,
    `Bearer ${token}x`,
  ].filter((header) => header?.toLowerCase() !== `bearer ${token.toLowerCase()}`);

/** Wrong tokens of the same length: all characters changed, only the first, or only the fourth from the end. */
export function changedTokens(token: string): string[] {
  const changed = (from: number, to: number): string =>
    [...token].map((sign, at) => (at >= from && at < to ? (/z/i.test(sign) ? '7' : 'Z') : sign)).join('');
  const late = Math.max(0, token.replace(/=+$/, '').length - 4);
  return [changed(0, token.length), changed(0, 1), changed(late, late + 1)].filter((other) => other !== token);
}

export function otherCase(token: string): string | undefined {
  const swapped = [...token].map((sign) => (sign === sign.toLowerCase() ? sign.toUpperCase() : sign.toLowerCase()));
  return swapped.join('') === token ? undefined : swapped.join('');
}

/** True for a token in mixed case; a token in one case, such as hexadecimal, may be valid in both cases. */
export const usesBothCases = (token: string): boolean => /[a-z]/.test(token) && /[A-Z]/.test(token);

export const anyWrongHeader = (token: string): fc.Arbitrary<string | undefined> => {
  // Leaves the padding unchanged, since a device that decodes the token may ignore it.
  const bare = token.replace(/=+$/, '');
  return fc
    .oneof(
      fc.constantFrom(...headersWithoutToken(token)),
      fc.nat({ max: Math.max(0, bare.length - 2) }).map((length) => `Bearer ${bare.slice(0, length)}`),
      fc.stringMatching(/^[A-Za-z0-9]{1,40}$/).map((text) => `Bearer ${text}`),
      fc.stringMatching(/^[A-Za-z0-9]{1,8}$/).map((more) => `Bearer ${token}${more}`),
      fc.nat({ max: Math.floor((bare.length - 1) / 2) }).map((at) => {
        const other = bare[at] === 'Z' ? '7' : 'Z';
        return `Bearer ${bare.slice(0, at)}${other}${token.slice(at + 1)}`;
      }),
    )
    .filter((header) => header?.toLowerCase() !== `bearer ${token.toLowerCase()}`);
};
