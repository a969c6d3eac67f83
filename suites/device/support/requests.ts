/** Requests that need an answer: silence or a dropped connection is a finding. */
import { BodyTooLarge, NoAnswer } from '../../../harness/client/errors.ts';
import type { Happening } from '../../../harness/client/happening.ts';
import type { HttpClient, HttpRequest, HttpResponse } from '../../../harness/client/http.ts';
import { isObject } from '../../../harness/common/lenient.ts';
import { countInWords } from '../../../harness/runner/results.ts';
import { Fact, Gate, type Throttling, throttled, throttledPauseMs } from '../../../harness/runner/session.ts';
import { type Device, inTime } from './check.ts';

export const CURRENT = '/deployments/current';

interface Answer {
  status: number;
  headers: Readonly<Record<string, string>>;
}

export const isThrottled = ({ status }: Pick<Answer, 'status'>): boolean => status === 429 || status === 503;

interface ThrottlingOptions<A> extends Pick<Throttling<A>, 'discard' | 'quota'> {
  /** True if the throttling may end soon, e.g. with another check's stream; `Retry-After` is then ignored. */
  mayClear?: () => boolean;
  /** True if the throttling lasts while this check waits, e.g. because the check itself causes it. */
  cannotClear?: () => boolean;
}

export function whileThrottled<A extends Answer>(
  { signal, patienceMs }: Device,
  { mayClear = () => false, cannotClear = () => false, quota = new Gate(), ...rest }: ThrottlingOptions<A>,
): (answer: A) => Promise<boolean> {
  return throttled<A>({
    signal,
    isThrottled,
    quota,
    ...rest,
    pauseMs: (answer, attempt) => {
      if (mayClear()) return throttledPauseMs({ status: 429, headers: {} }, attempt, patienceMs);
      return cannotClear() || quota.isUsedUp ? undefined : throttledPauseMs(answer, attempt, patienceMs);
    },
  });
}

export async function request(
  t: Device,
  request: HttpRequest,
  expected = 'an answer',
  http: HttpClient = t.http,
): Promise<HttpResponse> {
  const isDueAgain = whileThrottled<HttpResponse>(t, { quota: t.session.gate('requests') });
  try {
    let answer: HttpResponse;
    do answer = await inTime(t, 'answer', (within) => http.request({ timeoutMs: within, ...request }));
    while (await isDueAgain(answer));
    return answer;
  } catch (error) {
    throw unanswered(t, expected, error);
  }
}

/** Fails the check if `error` means that no answer came, and returns any other error. */
export function unanswered(t: Device, expected: string, error: unknown): unknown {
  // Takes a body above Muster's limit for a finding, because no answer of the Device API but a stream is long.
  const isWrong = error instanceof NoAnswer || error instanceof BodyTooLarge;
  if (isWrong && !t.signal.aborted) t.must(false, { expected, actual: error.message });
  return error;
}

export function refuseThrottled(t: Device, { status }: HttpResponse): void {
  if (status === 429) t.blocked('the device kept answering 429 for a minute');
}

/** Maximum milliseconds until a device notices a closed stream. */
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

  /** True soon after a stream was served or has ended, because the device may still count an ended one. */
  justClosed(withinMs: number): boolean {
    const since = performance.now() - withinMs;
    const isRecent = ({ status, ended }: HeldStream): boolean =>
      status === 200 && ended !== undefined && ended.at > since;
    return this.#lastServedAt > since || [...this.#streams].some(isRecent);
  }

  /** Runs throttled checks one by one, because two could wait forever for each other's streams. */
  inTurn<T>(run: () => Promise<T>): Promise<T> {
    const turn = this.#turns.then(run);
    this.#turns = turn.catch(() => {});
    return turn;
  }
}
export const OPEN_STREAMS = new Fact(() => new OpenStreams());

export const servesFew = (streams: number): string =>
  `the device serves no more than ${countInWords('streams', streams)} at once`;

export const countOpen = (streams: Iterable<HeldStream>): number =>
  [...streams].filter(({ status, ended }) => status === 200 && ended === undefined).length;

export const objectOf = (response: HttpResponse): Record<string, unknown> | undefined =>
  isObject(response.json) ? response.json : undefined;

export const mediaType = (headers: Readonly<Record<string, string>>): string =>
  (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';

export const isEventStream = ({ headers }: Pick<Answer, 'headers'>): boolean =>
  mediaType(headers) === 'text/event-stream';

export function describeResponse(response: Pick<HttpResponse, 'status' | 'headers' | 'text'>): string {
  const type = mediaType(response.headers);
  return `${response.status}${type === '' ? '' : ` ${type}`} ${JSON.stringify(response.text.slice(0, 300))}`;
}

/** Accepts every plausible answer, because the specification names none. */
export const meansNoDeployment = (response: HttpResponse): boolean =>
  [204, 404, 409, 410, 503].includes(response.status) || (response.status === 200 && response.json === null);

export const isServed = (response: HttpResponse): boolean => response.status === 200 || meansNoDeployment(response);

/** Looks at members, because a server may answer every path with 200. */
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
  refuseThrottled(t, response);
  const body = objectOf(response);
  t.must(response.status === 200 && body !== undefined, {
    expected: '200 with a JSON object, a Deployment (or 404 while the device has no deployment)',
    actual: describeResponse(response),
  });
  return body;
}
