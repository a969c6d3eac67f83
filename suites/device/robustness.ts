/** Odd requests: the server must answer or hang up, and keep serving. */
import fc from 'fast-check';
import type { HttpClient } from '../../harness/client/http.ts';
import { exchange, type RawExchange, type RawOptions, requestText } from '../../harness/client/raw.ts';
import { type Device, recordSuccess, recordTimeout, STREAM, timeoutMs } from './support/check.ts';
import { CURRENT, isServed, noticedMs, OPEN_STREAMS, request, whileThrottled } from './support/requests.ts';
import { section } from './support/section.ts';
import { withStreams } from './support/streams.ts';

export const { requirement, check, checks } = section({ section: '4.1', since: '2026-11-21' });

const robust = requirement({
  id: 'device.robust.requests',
  level: 'SHOULD',
  text:
    'Bad methods, long paths, bad headers, pipelined and slow requests get a 4xx and never a hang or a 5xx, ' +
    'and the next request works.',
});
check(robust, { premises: STREAM }, async (t: Device, streams) => {
  // Opens a stream first, because a device that refuses every request would pass.
  await (await streams.open()).close();
  const requests = oddRequests(t.http);
  await t.property(
    fc.constantFrom(...requests),
    async (odd) => {
      await expectHandled(t, odd, await send(t, odd), () => usualStatus(t));
      await expectNextServed(t, odd.name);
    },
    {
      runs: requests.length,
      examples: requests.map((odd): [unknown] => [odd]),
      describe: (odd: OddRequest) => odd.name,
    },
  );
});

interface OddRequest {
  name: string;
  parts: (string | Buffer)[];
  answers?: number;
  methods?: string[];
  mayHangUp?: boolean;
  accepts?(status: number, at?: number): boolean;
}

const rejected = (status: number): boolean => (status >= 400 && status < 500) || status === 501 || status === 505;
const noServerError = (status: number): boolean => status < 500 || status === 501 || status === 505;

const LONG = 'x'.repeat(64 * 1024);

const TAKEN = { accepts: noServerError };
const HUNG_UP = { mayHangUp: true };
const TAKEN_OR_HUNG_UP = { ...TAKEN, ...HUNG_UP };

function oddRequests(http: HttpClient): OddRequest[] {
  const { basePath } = http;
  const target = basePath + CURRENT;
  const whole = requestText(http, { target });
  const odd = (
    name: string,
    request: Parameters<typeof requestText>[1],
    extras: Partial<OddRequest> = {},
  ): OddRequest => ({ name, parts: [requestText(http, request)], ...extras });
  const noLength = ['Content-Length: 0'];
  const thousand = Array.from({ length: 1000 }, (_, index) => `X-${index}: 1`);
  const withBody = ['Content-Type: application/json', 'Content-Length: 2'];
  return [
    ...['DELETE', 'PUT', 'PATCH', 'POST', 'BREW', 'get'].map((method) =>
      odd(`${method} ${CURRENT}`, { method, target, headers: noLength }, { methods: [method] }),
    ),
    odd('POST /events', { method: 'POST', target: `${basePath}/events`, headers: noLength }),
    ...[CURRENT, '/events'].map((path) =>
      odd(`HEAD ${path}`, { method: 'HEAD', target: basePath + path }, { methods: ['HEAD'], ...TAKEN }),
    ),
    odd(`OPTIONS ${CURRENT}`, { method: 'OPTIONS', target }, TAKEN),
    odd('a path that does not exist', { target: `${basePath}/nonsense` }),
    odd('a path of 64 KiB', { target: `${basePath}/${LONG}` }, HUNG_UP),
    odd('a query of 64 KiB', { target: `${target}?q=${LONG}` }, TAKEN_OR_HUNG_UP),
    odd('a path with bad escapes', { target: `${basePath}/deployments/%zz%` }),
    // Accepts a redirect to the normalized path.
    odd(
      'a path that climbs',
      { target: `${basePath}/../../etc/passwd` },
      { accepts: (status) => status >= 300 && noServerError(status) },
    ),
    odd('a header of 1 MiB', { target, headers: [`X-Long: ${LONG.repeat(16)}`] }, TAKEN_OR_HUNG_UP),
    odd('a thousand headers', { target, headers: thousand }, TAKEN_OR_HUNG_UP),
    odd('a header without colon', { target, headers: ['nonsense'] }, HUNG_UP),
    odd('a header name with a space', { target, headers: ['X Y: 1'] }, HUNG_UP),
    odd('a header value with a NUL', { target, headers: ['X-Y: a\0b'] }, TAKEN_OR_HUNG_UP),
    odd('two lengths', { target, headers: ['Content-Length: 1', 'Content-Length: 2'], body: 'ab' }, HUNG_UP),
    odd('HTTP/9.9', { target, version: 'HTTP/9.9' }, HUNG_UP),
    {
      name: 'bytes that are not HTTP',
      parts: [Buffer.from('160301020001000001fc0303', 'hex'), '\r\n\r\n'],
      ...HUNG_UP,
    },
    odd('a body where none belongs', { target, headers: withBody, body: '{}' }, TAKEN),
    {
      name: 'three requests in one piece',
      parts: [whole + requestText(http, { target: `${basePath}/nonsense` }) + whole],
      answers: 3,
      // The middle answer shows whether answers come in the order of their requests.
      accepts: (status, at) => (at === 1 ? rejected(status) : noServerError(status)),
    },
    { name: 'a request byte by byte', parts: [...whole], ...TAKEN },
    {
      name: 'a request in two pieces',
      parts: [whole.slice(0, whole.length / 2), whole.slice(whole.length / 2)],
      ...TAKEN,
    },
  ];
}

async function send(
  t: Device,
  { parts, answers = 1, methods = [], accepts = rejected }: OddRequest,
): Promise<RawExchange> {
  const open = t.session.get(OPEN_STREAMS);
  const mayClear = (): boolean => open.count > 0 || open.justClosed(noticedMs(t));
  const cannotClear = (): boolean => t.session.gate('requests').isUsedUp;
  const isDueAgain = whileThrottled(t, { mayClear, cannotClear });
  let exchange: RawExchange;
  do exchange = await rawExchange(t, parts, { answers, methods, accepts });
  while (await isDueAgain({ status: 0, headers: {}, ...exchange.responses.at(-1) }));
  return exchange;
}

/** Has a timeout of its own, because an unanswered odd request must not shorten other waits. */
async function rawExchange(
  t: Device,
  parts: readonly (string | Buffer)[],
  options: Omit<RawOptions, 'within'> = {},
): Promise<RawExchange> {
  const within = timeoutMs(t, 'odd');
  const started = performance.now();
  const result = await exchange(t.http, parts, { within, ...options });
  if (result.end === 'timeout') recordTimeout(t, 'odd');
  else recordSuccess(t, 'odd', performance.now() - started);
  return result;
}

const usualStatus = async (t: Device): Promise<number> => (await t.http.get(CURRENT)).status;

/** `usual`: status of a plain request, which may be 503 without a deployment. */
async function expectHandled(
  t: Device,
  odd: OddRequest,
  { responses, end, rest }: RawExchange,
  usual: () => Promise<number>,
): Promise<void> {
  const { name, answers = 1, mayHangUp = false, accepts = rejected } = odd;
  const acceptable = accepts === rejected ? 'a 4xx' : 'an answer below 500';
  const answered = answers === 1 ? acceptable : `${answers} answers below 500, and a 4xx to an unknown path,`;
  const expected = `${answered}${mayHangUp ? ', or a closed connection,' : ''} for ${name}`;
  const statuses = responses.map(({ status }) => status);
  const wrong = statuses.find((status, at) => !accepts(status, at));
  const isRight = wrong === undefined || (accepts !== rejected && wrong === 503 && (await usual()) === 503);
  t.must(isRight, { expected, actual: statuses.join(', ') });
  // Accepts a close after an answer to a pipeline, because a client repeats the rest (RFC 9112, section 9.3.2).
  const mayClose = mayHangUp || responses.at(-1)?.closes === true || (answers > 1 && responses.length > 0);
  t.must(end === 'answered' || (mayClose && end === 'closed'), {
    expected,
    actual:
      end === 'timeout'
        ? `no answer in time (${statuses.length} of ${answers}; ${rest.length} bytes)`
        : end === 'malformed'
          ? 'an answer whose framing is wrong, or larger than 4 MiB'
          : `the connection was closed after ${statuses.length} of ${answers} answers`,
  });
}

async function expectNextServed(t: Device, after: string): Promise<void> {
  const expected = `the next request works after ${after}`;
  const next = await request(t, { path: CURRENT }, expected);
  t.must(isServed(next), { expected, actual: next.status });
}

/** Number of unfinished requests; few, because the specification states no limit. */
const UNFINISHED = 16;

check(robust, { aspect: 'unfinished', sharing: 'disruptive', premises: STREAM }, async (t: Device) => {
  await withStreams(t, (streams) => streams.open());
  const whole = requestText(t.http, { target: t.http.basePath + CURRENT });
  const usual = await usualStatus(t);
  const sockets = await Promise.all(
    Array.from({ length: UNFINISHED }, async (_, index) => {
      const socket = await t.http.connect();
      socket.on('error', () => {});
      socket.write(whole.slice(0, 1 + ((index * 7) % (whole.length - 3))));
      return socket;
    }),
  );
  try {
    const next = await rawExchange(t, [whole]);
    const name = `a whole request on another connection, beside ${UNFINISHED} requests that were begun and not ended`;
    await expectHandled(t, { name, parts: [], accepts: noServerError }, next, async () => usual);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  await expectNextServed(t, `${UNFINISHED} requests that were broken off`);
});

check(robust, { aspect: 'come-and-go', sharing: 'disruptive', premises: STREAM }, async (t: Device, streams) => {
  // Runs fewer rounds on a device that serves few streams, because it may notice their end only after seconds.
  for (let round = 0; round < (t.session.get(OPEN_STREAMS).isScarce ? 2 : 10); round += 1) {
    const first = await streams.open();
    const more = await Promise.all(Array.from({ length: 9 }, () => streams.openAnother({})));
    await Promise.all([first, ...more].map((subscription) => subscription?.close()));
  }
  await streams.open();
  await expectNextServed(t, 'subscribers that came and went');
});
