/**
 * Fuzzes the HTTP/1.1 framing of four servers, and Muster's HTTP client with malformed answers.
 * A server must not fail, answer a request hidden in a body, or keep the connection open. Each request of the client
 * must end with an answer or a known error.
 */

import { createServer } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { errorOf, LimitReached, NoAnswer, Unreachable } from '../../client/errors.ts';
import type { HttpClient } from '../../client/http.ts';
import { exchange, parseResponse, type RawResponse } from '../../client/raw.ts';
import {
  bytesOf,
  cuts,
  type Damage,
  damagesFrom,
  type Fuzzer,
  isClosedWithin,
  oneOfRows,
  piecesOf,
  weighed,
  withDamages,
  writeParts,
} from './fuzzer.ts';
import { againstServers, attackClients, type ServerName, type Servers } from './servers.ts';

const CRLF = '\r\n';
const CREDENTIALS = '@credentials';
const SMUGGLED = `GET /smuggled HTTP/1.1${CRLF}Host: x${CRLF}${CRLF}`;

const size = oneOfRows('5¦0¦3¦05¦+5¦-5¦ 5 ¦5,5¦5, 6¦0x5¦5e0¦99999999999999999999¦¦a¦5\u0000¦٥');
const coding = oneOfRows(
  'chunked¦Chunked¦chunked, chunked¦identity¦gzip, chunked¦chunked, gzip¦xchunked¦ chunked',
  '\tchunked¦chunked\u0000¦"chunked"¦chunked;q=1¦¦x\r\n chunked¦\u000bchunked¦chunked,',
);
const flood = fc.oneof(
  fc
    .integer({ min: 1, max: 3_000 })
    .map((count) => Array.from({ length: count }, (_, index) => `X${index}: a`).join(CRLF)),
  fc.integer({ min: 1, max: 40_000 }).map((length) => `X: ${'a'.repeat(length)}`),
);
const header = fc.oneof(
  weighed(
    6,
    'Connection: close¦Connection: keep-alive¦Connection: upgrade¦Upgrade: h2c¦Upgrade: websocket',
    'Expect: 100-continue¦Expect: 42¦Content-Type: application/json¦Accept: */*¦Host: y¦Trailer: a',
    'TE: trailers¦Keep-Alive: timeout=0',
  ),
  { weight: 4, arbitrary: size.map((value) => `Content-Length: ${value}`) },
  { weight: 4, arbitrary: coding.map((value) => `Transfer-Encoding: ${value}`) },
  weighed(
    3,
    'X : a¦: a¦X¦X: a\u0000b¦X: a\rb¦X: a\nb¦ X: folded¦\tX: folded¦X: \u00ff\u00fe¦X\u0000: a',
    'X: \u001b[2J¦Content-Length : 5¦Transfer-Encoding : chunked¦Content_Length: 5¦X: é¦"X": 1',
    'X: a\r\n b',
  ),
  { weight: 1, arbitrary: flood },
);

const chunkSize = oneOfRows(`5¦5;a=b¦5 ¦ 5¦005¦-5¦+5¦0x5¦5\u0000¦ffffffffffffffff¦¦g¦5;¦5;${'x'.repeat(20_000)}¦6¦4`);
const chunked = fc
  .tuple(
    fc.array(fc.tuple(chunkSize, fc.constantFrom(CRLF, CRLF, CRLF, '\n', '\r', '')), { maxLength: 4 }),
    oneOfRows('0\r\n\r\n¦0\r\nA: b\r\n\r\n¦0\r\n¦¦0\n\n¦0\r\nX\u0000\r\n\r\n'),
  )
  .map(([chunks, end]) => chunks.map(([length, gap]) => `${length}${gap}hello${gap}`).join('') + end);
const body = fc.oneof(
  fc.constantFrom('', 'hello', 'hello world', '{"a":1}', SMUGGLED, `0${CRLF}${CRLF}${SMUGGLED}`),
  chunked,
);

const lineEnd = fc.oneof(weighed(12, CRLF), weighed(1, '\n¦\r¦\r\r\n¦\u0000\r\n'));

const whole = (first: string, headers: readonly string[], end: string, content: string): string =>
  [first, ...headers, '', ''].join(end) + content;

const requestText = (targets: readonly string[]): fc.Arbitrary<string> => {
  const requestLine = fc.tuple(
    fc.oneof(
      weighed(8, 'GET¦POST¦HEAD¦PATCH¦DELETE¦OPTIONS'),
      weighed(1, `CONNECT¦TRACE¦PRI¦get¦G ET¦¦M-SEARCH¦\u0000GET¦${'X'.repeat(500)}`),
    ),
    fc.oneof(
      weighed(6, ...targets),
      weighed(1, `*¦http://y/¦//y/¦/%00¦/%¦/../..¦x¦¦/a b¦/\u0000¦/\u00ff¦/${'a'.repeat(20_000)}¦/?a\tb`),
    ),
    fc.oneof(weighed(10, 'HTTP/1.1'), weighed(1, 'HTTP/1.0¦HTTP/2.0¦HTTP/0.9¦HTTP/1.10¦http/1.1¦¦HTTP/1.1 ¦RTSP/1.0')),
  );
  return fc
    .tuple(requestLine, fc.boolean(), fc.array(header, { maxLength: 4 }), lineEnd, body)
    .map(([words, host, headers, end, content]) =>
      whole(words.join(' '), [...(host ? ['Host: localhost'] : []), CREDENTIALS, ...headers], end, content),
    );
};

const statusLine = fc.oneof(
  weighed(6, 'HTTP/1.1 200 OK¦HTTP/1.1 404 Not Found¦HTTP/1.1 204 No Content¦HTTP/1.1 304 X¦HTTP/1.1 500 '),
  weighed(2, 'HTTP/1.1 100 Continue¦HTTP/1.1 103 Early Hints¦HTTP/1.1 101 Switching Protocols¦HTTP/1.1 199 X'),
  weighed(
    2,
    'HTTP/1.0 200 OK¦HTTP/1.1 200¦HTTP/1.1 2000 X¦HTTP/1.1 99 X¦HTTP/1.1 000 X¦HTTP/2 200',
    'ICY 200 OK¦¦HTTP/1.1  200 OK¦HTTP/1.1 -1 X¦HTTP/1.1 20\u0000 X',
    `HTTP/1.1 200 ${'x'.repeat(9_000)}¦HTTP/1.1 999 X`,
  ),
);

const answerHeader = fc.oneof(
  header,
  oneOfRows('Content-Type: text/event-stream¦Content-Encoding: gzip¦Location: http://127.0.0.1:1/¦Set-Cookie: a=b'),
);
const answerText = fc
  .tuple(statusLine, fc.array(answerHeader, { maxLength: 4 }), lineEnd, body)
  .map(([first, headers, end, content]) => whole(first, headers, end, content));

/**
 * Methods of the requests in `text`, up to the first request that RFC 9112 forbids.
 * The last one may lack a part of its body, because a server may answer after the head.
 */
function plainRequests(text: string): string[] {
  const methods: string[] = [];
  for (let rest = text; ; ) {
    const request = firstOf(rest.replace(/^[\r\n]+/, ''));
    if (request === undefined) return methods;
    methods.push(request.method);
    if (request.rest === undefined) return methods;
    rest = request.rest;
  }
}

function firstOf(given: string): { method: string; rest: string | undefined } | undefined {
  // Node's parser accepts a lone line feed after a request line without a version.
  const text = given.replace(/^([^ \r\n]+ +[^ \r\n]+)\n/, '$1\r\n');
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const [first = '', ...lines] = text.slice(0, end).split('\r\n');
  // Node's parser accepts several spaces, HTTP 0.9 or 2.0, RTSP 1.0, or no version.
  const [, method] = /^([!#$%&'*+.^_`|~\w-]+) +[^ ]+(?: +HTTP\/(?:0\.9|1\.[01]|2\.0)| +RTSP\/1\.0)?$/.exec(first) ?? [];
  if (method === undefined) return undefined;
  const headers = lines.map((line) => /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)[ \t]*$/s.exec(line));
  const named = (name: string): string[] =>
    headers.flatMap((header) => (header?.[1]?.toLowerCase() === name ? [header[2] ?? ''] : []));
  const lengths = named('content-length');
  const codings = named('transfer-encoding');
  const after = text.slice(end + 4);
  if (codings.length > 0) {
    if (lengths.length > 0) return undefined;
    // A chunked body has an end only if `chunked` is the last coding, applied once (RFC 9112, section 6.3).
    const applied = codings
      .join(',')
      .toLowerCase()
      .split(/[ \t]*,[ \t]*/);
    if (applied.indexOf('chunked') !== applied.length - 1) return { method, rest: undefined };
    return { method, rest: afterChunks(after) };
  }
  if (lengths.length === 0) return { method, rest: after };
  // Node's parser accepts a Content-Length of 64 bits.
  if (lengths.length > 1 || !/^\d+$/.test(lengths[0] ?? '') || BigInt(lengths[0] ?? '') > 2n ** 64n - 1n)
    return undefined;
  const length = Number(lengths[0]);
  return { method, rest: after.length < length ? undefined : after.slice(length) };
}

function afterChunks(text: string): string | undefined {
  for (let rest = text; ; ) {
    const [line, written = ''] = /^([\da-f]{1,12})[^\r\n]*\r\n/i.exec(rest) ?? [];
    if (line === undefined) return undefined;
    const size = Number.parseInt(written, 16);
    rest = rest.slice(line.length);
    if (size === 0) {
      const [trailers] = /^(?:[^\r\n]+\r\n)*\r\n/.exec(rest) ?? [];
      return trailers === undefined ? undefined : rest.slice(trailers.length);
    }
    if (rest.slice(size, size + 2) !== '\r\n') return undefined;
    rest = rest.slice(size + 2);
  }
}

const someDamages = (...more: readonly string[]): fc.Arbitrary<Damage[]> =>
  fc.oneof(
    fc.constant<Damage[]>([]),
    fc.array(damagesFrom(['\r\n', '\n', '\r', '\0', ' ', ':', '0\r\n\r\n', ...more]), { maxLength: 2 }),
  );

interface HttpInput {
  server: ServerName;
  requests: string[];
  damages: Damage[];
  cuts: number[];
}

const TARGETS: Readonly<Record<ServerName, readonly string[]>> = {
  device: ['/v0.2/health', '/v0.2/device', '/v0.2/deployments/current', '/v0.2/device/sync'],
  deviceControl: ['/', '/compact', '/events', '/deployments'],
  platform: ['/beta/devices', '/beta/releases?limit=1', '/beta/config_types', '/agent/v1/device'],
  platformControl: ['/', '/plans', '/snapshots'],
};

async function attack(
  servers: Servers,
  { server, requests, damages, cuts: at }: HttpInput,
): Promise<string | undefined> {
  const client = servers.client(server);
  const own = Object.entries(client.headers).map(([name, value]) => `${name}: ${value}`);
  const text = withDamages(requests.join(''), damages).replaceAll(CREDENTIALS, own.join('\r\n') || 'X-Nothing: 0');
  const socket = await client.connect();
  const parts: Buffer[] = [];
  let length = 0;
  socket.on('data', (part: Buffer) => {
    length += part.length;
    if (length <= 4 * 1024 * 1024) parts.push(part);
  });
  const closed = isClosedWithin(socket, 40_000);
  await writeParts(socket, piecesOf(bytesOf(text), at));
  socket.end();
  const hangsUp = await closed;
  socket.destroy();
  if (!hangsUp) return `${server} neither answers nor hangs up`;
  return wrongAnswers(Buffer.concat(parts), plainRequests(text), server);
}

function wrongAnswers(bytes: Buffer, methods: readonly string[], server: string): string | undefined {
  const answers: RawResponse[] = [];
  for (let rest = bytes; rest.length > 0; ) {
    const found = parseResponse(rest, methods[answers.length] ?? 'GET', true);
    // The answer may be incomplete: TCP may drop the end if a server closes with unread bytes.
    if (found === undefined) break;
    if (found === 'malformed') return `${server} answers with a wrong framing`;
    rest = rest.subarray(found.length);
    if (found.response.status >= 200) answers.push(found.response);
  }
  const failed = answers.find(({ status }) => status >= 500 && status !== 501 && status !== 505);
  if (failed !== undefined) return `${server} answers '${failed.status}'`;
  if (answers.length > methods.length + 1) return `${server} answers more requests than there are`;
  const beyond = answers[methods.length];
  if (beyond !== undefined && beyond.status < 400) return `${server} serves a request that is not whole`;
  return undefined;
}

export const http: Fuzzer<HttpInput> = {
  inputs: fc.constantFrom(...(Object.keys(TARGETS) as ServerName[])).chain((server) =>
    fc.record({
      server: fc.constant(server),
      requests: fc.array(requestText(TARGETS[server]), { minLength: 1, maxLength: 4 }),
      damages: someDamages(),
      cuts,
    }),
  ),
  open: () => againstServers(attack),
};

interface AnswersInput {
  answers: string[];
  damages: Damage[];
  cuts: number[];
  end: 'end' | 'reset';
  method: 'GET' | 'HEAD';
}

/** Never reached, because the server always closes the connection. */
const TIMEOUT_MS = 20_000;

async function attackClient(http: HttpClient, bytes: Buffer, method: string): Promise<string | undefined> {
  const whole = await http.request({ method, path: '/', headers: { connection: 'close' } }).catch(errorOf);
  if (whole instanceof Error) {
    if (!isExpected(whole)) return `the client fails with ${whole.name}: ${whole.message}`;
  } else if (!(whole.status >= 200 && whole.status <= 999))
    return 'the client takes something for an answer that has no status';
  const text = `${method} / HTTP/1.1\r\nHost: x\r\n\r\n`;
  const raw = await exchange(http, [text], { within: TIMEOUT_MS, methods: [method] }).catch(errorOf);
  if (raw instanceof Error)
    return isExpected(raw) ? undefined : `the raw exchange fails with ${raw.name}: ${raw.message}`;
  if (raw.end === 'timeout') return 'the raw exchange waits after the server has hung up';
  const [strict] = raw.responses;
  const [head = ''] = bytes.toString('latin1').split('\r\n\r\n');
  // Compares only answers whose head is printable ASCII, which all parsers read alike.
  const isPlain = head.split('\r\n').every((line) => /^[ -~]*$/.test(line));
  if (raw.end === 'answered' && !(whole instanceof Error) && strict !== undefined && isPlain) {
    if (strict.status !== whole.status) return 'client and raw exchange read other statuses';
    if (!strict.body.equals(whole.bytes)) return 'client and raw exchange read other bodies';
  }
  const parsed = parseResponse(bytes, method, false);
  const step = Math.max(1, Math.floor(bytes.length / 200));
  for (let length = 0; length < bytes.length; length += step) {
    const part = parseResponse(bytes.subarray(0, length), method, false);
    if (part !== undefined && !isDeepStrictEqual(part, parsed))
      return 'the raw parser reads something else when more bytes come';
  }
  return undefined;
}

const isExpected = (error: Error): boolean =>
  [NoAnswer, Unreachable, LimitReached].some((kind) => error instanceof kind);

export const answers: Fuzzer<AnswersInput> = {
  inputs: fc.record({
    answers: fc.array(answerText, { minLength: 1, maxLength: 3 }),
    damages: someDamages('HTTP/1.1 200 OK\r\n'),
    cuts,
    end: fc.constantFrom('end', 'end', 'reset'),
    method: fc.constantFrom('GET', 'GET', 'HEAD'),
  }),
  open: () => {
    let parts: Buffer[] = [];
    let end: AnswersInput['end'] = 'end';
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        for (const part of parts) socket.write(part);
        if (end === 'end') socket.end();
        else setImmediate(() => socket.destroy());
      });
    });
    return attackClients(server, TIMEOUT_MS, (http, input: AnswersInput) => {
      const bytes = bytesOf(withDamages(input.answers.join(''), input.damages));
      parts = piecesOf(bytes, input.cuts);
      end = input.end;
      return attackClient(http, bytes, input.method);
    });
  },
};
