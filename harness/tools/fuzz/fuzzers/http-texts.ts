/** HTTP/1.1 as inputs: requests and answers with every way to say where they end, and to say it wrongly. */
import fc from 'fast-check';

const CRLF = '\r\n';
/** What a server must never take for a request when it stands in the body of another one. */
export const SMUGGLED = `GET /smuggled HTTP/1.1${CRLF}Host: x${CRLF}${CRLF}`;

const size = fc.constantFrom(
  '5',
  '0',
  '3',
  '05',
  '+5',
  '-5',
  ' 5 ',
  '5,5',
  '5, 6',
  '0x5',
  '5e0',
  '99999999999999999999',
  '',
  'a',
  '5\u0000',
  '٥',
);
const coding = fc.constantFrom(
  ...[
    'chunked',
    'Chunked',
    'chunked, chunked',
    'identity',
    'gzip, chunked',
    'chunked, gzip',
    'xchunked',
    ' chunked',
    '\tchunked',
  ],
  ...['chunked\u0000', '"chunked"', 'chunked;q=1', '', 'x\r\n chunked', '\u000bchunked', 'chunked,'],
);
const common = fc.constantFrom(
  ...[
    'Connection: close',
    'Connection: keep-alive',
    'Connection: upgrade',
    'Upgrade: h2c',
    'Upgrade: websocket',
    'Expect: 100-continue',
  ],
  ...[
    'Expect: 42',
    'Content-Type: application/json',
    'Accept: */*',
    'Host: y',
    'Trailer: a',
    'TE: trailers',
    'Keep-Alive: timeout=0',
  ],
);
const odd = fc.constantFrom(
  ...[
    'X : a',
    ': a',
    'X',
    'X: a\u0000b',
    'X: a\rb',
    'X: a\nb',
    ' X: folded',
    '\tX: folded',
    'X: \u00ff\u00fe',
    'X\u0000: a',
    'X: \u001b[2J',
  ],
  ...['Content-Length : 5', 'Transfer-Encoding : chunked', 'Content_Length: 5', 'X: é', '"X": 1', 'X: a\r\n b'],
);
const flood = fc.oneof(
  fc
    .integer({ min: 1, max: 3_000 })
    .map((count) => Array.from({ length: count }, (_, index) => `X${index}: a`).join(CRLF)),
  fc.integer({ min: 1, max: 40_000 }).map((length) => `X: ${'a'.repeat(length)}`),
);
const header = fc.oneof(
  { weight: 6, arbitrary: common },
  { weight: 4, arbitrary: size.map((value) => `Content-Length: ${value}`) },
  { weight: 4, arbitrary: coding.map((value) => `Transfer-Encoding: ${value}`) },
  { weight: 3, arbitrary: odd },
  { weight: 1, arbitrary: flood },
);

const chunkSize = fc.constantFrom(
  '5',
  '5;a=b',
  '5 ',
  ' 5',
  '005',
  '-5',
  '+5',
  '0x5',
  '5\u0000',
  'ffffffffffffffff',
  '',
  'g',
  '5;',
  `5;${'x'.repeat(20_000)}`,
  '6',
  '4',
);
const chunked = fc
  .tuple(
    fc.array(fc.tuple(chunkSize, fc.constantFrom(CRLF, CRLF, CRLF, '\n', '\r', '')), { maxLength: 4 }),
    fc.constantFrom(
      `0${CRLF}${CRLF}`,
      `0${CRLF}A: b${CRLF}${CRLF}`,
      `0${CRLF}`,
      '',
      '0\n\n',
      `0${CRLF}X\u0000${CRLF}${CRLF}`,
    ),
  )
  .map(([chunks, end]) => chunks.map(([length, gap]) => `${length}${gap}hello${gap}`).join('') + end);
const body = fc.oneof(
  fc.constantFrom('', 'hello', 'hello world', '{"a":1}', SMUGGLED, `0${CRLF}${CRLF}${SMUGGLED}`),
  chunked,
);

const lineEnd = fc.oneof(
  { weight: 12, arbitrary: fc.constant(CRLF) },
  { weight: 1, arbitrary: fc.constantFrom('\n', '\r', '\r\r\n', '\u0000\r\n') },
);

const whole = (first: string, headers: readonly string[], end: string, content: string): string =>
  [first, ...headers, '', ''].join(end) + content;

const requestLine = (targets: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.oneof(
        { weight: 8, arbitrary: fc.constantFrom('GET', 'POST', 'HEAD', 'PATCH', 'DELETE', 'OPTIONS') },
        {
          weight: 1,
          arbitrary: fc.constantFrom(
            'CONNECT',
            'TRACE',
            'PRI',
            'get',
            'G ET',
            '',
            'M-SEARCH',
            '\u0000GET',
            'X'.repeat(500),
          ),
        },
      ),
      fc.oneof(
        { weight: 6, arbitrary: fc.constantFrom(...targets) },
        {
          weight: 1,
          arbitrary: fc.constantFrom(
            '*',
            'http://y/',
            '//y/',
            '/%00',
            '/%',
            '/../..',
            'x',
            '',
            '/a b',
            '/\u0000',
            '/\u00ff',
            `/${'a'.repeat(20_000)}`,
            '/?a\tb',
          ),
        },
      ),
      fc.oneof(
        { weight: 10, arbitrary: fc.constant('HTTP/1.1') },
        {
          weight: 1,
          arbitrary: fc.constantFrom(
            'HTTP/1.0',
            'HTTP/2.0',
            'HTTP/0.9',
            'HTTP/1.10',
            'http/1.1',
            '',
            'HTTP/1.1 ',
            'RTSP/1.0',
          ),
        },
      ),
    )
    .map((words) => words.join(' '));

/** The bytes of one request, most of them nearly right. `own` headers are always there. */
export const requestText = (targets: readonly string[], own: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(requestLine(targets), fc.boolean(), fc.array(header, { maxLength: 4 }), lineEnd, body)
    .map(([first, host, headers, end, content]) =>
      whole(first, [...(host ? ['Host: localhost'] : []), ...own, ...headers], end, content),
    );

const statusLine = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      'HTTP/1.1 200 OK',
      'HTTP/1.1 404 Not Found',
      'HTTP/1.1 204 No Content',
      'HTTP/1.1 304 X',
      'HTTP/1.1 500 ',
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      'HTTP/1.1 100 Continue',
      'HTTP/1.1 103 Early Hints',
      'HTTP/1.1 101 Switching Protocols',
      'HTTP/1.1 199 X',
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      'HTTP/1.0 200 OK',
      'HTTP/1.1 200',
      'HTTP/1.1 2000 X',
      'HTTP/1.1 99 X',
      'HTTP/1.1 000 X',
      'HTTP/2 200',
      'ICY 200 OK',
      '',
      'HTTP/1.1  200 OK',
      'HTTP/1.1 -1 X',
      'HTTP/1.1 20\u0000 X',
      `HTTP/1.1 200 ${'x'.repeat(9_000)}`,
      'HTTP/1.1 999 X',
    ),
  },
);

/** The bytes of an answer. */
export const answerText: fc.Arbitrary<string> = fc
  .tuple(
    statusLine,
    fc.array(
      fc.oneof(
        header,
        fc.constantFrom(
          'Content-Type: text/event-stream',
          'Content-Encoding: gzip',
          'Location: http://127.0.0.1:1/',
          'Set-Cookie: a=b',
        ),
      ),
      { maxLength: 4 },
    ),
    lineEnd,
    body,
  )
  .map(([first, headers, end, content]) => whole(first, headers, end, content));
