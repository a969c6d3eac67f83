import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { ConnectionReader } from './connection-reader.ts';
import type { Ending, Side } from './relay.ts';
import type { Traffic } from './traffic.ts';

type Act = [from: Side, bytes: string | Buffer] | [from: Side, ending: { how: Ending }];

function traffic(...acts: readonly Act[]): Traffic[] {
  const all: Traffic[] = [];
  let exchanges = 0;
  const take = (each: Traffic) => void all.push(each);
  const reader = new ConnectionReader({ connection: 1, number: () => ++exchanges, take });
  for (const [at, [from, what]] of acts.entries()) {
    if (typeof what === 'string' || Buffer.isBuffer(what)) reader.bytes(from, Buffer.from(what), at);
    else reader.ended(from, what.how, at);
  }
  return all;
}

const words = (...acts: readonly Act[]): string[] =>
  traffic(...acts).map((each) => {
    if (each.kind === 'request') return `request ${each.exchange} ${each.method} ${each.target}`;
    if (each.kind === 'response') return `response ${each.exchange} ${each.status}`;
    if (each.kind === 'over') return `over ${each.exchange} ${each.ended} ${each.body?.text ?? ''}`.trimEnd();
    if (each.kind === 'frame') return `frame ${each.fields.map((pair) => pair.join('=')).join(' ')}`;
    return 'why' in each ? `${each.kind} ${each.why}` : each.kind;
  });

const GET = 'GET / HTTP/1.1\r\n\r\n';
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const STREAM = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n';

test('a reader assigns answers to requests in their order', () => {
  expect(words(['client', GET + GET], ['server', OK], ['server', OK])).toEqual([
    ...['request 1 GET /', 'asked', 'request 2 GET /', 'asked'],
    ...['response 1 200', 'over 1 whole ok', 'response 2 200', 'over 2 whole ok'],
  ]);
});

test('a reader takes no body for an interim answer, HEAD or 304', () => {
  const ofHead = 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n';
  const answers = `HTTP/1.1 100 Continue\r\n\r\n${ofHead}HTTP/1.1 304 X\r\n\r\n${OK}`;
  expect(words(['client', `HEAD / HTTP/1.1\r\n\r\n${GET}${GET}`], ['server', answers]).slice(6)).toEqual([
    ...['response 1 200', 'over 1 whole', 'response 2 304', 'over 2 whole', 'response 3 200', 'over 3 whole ok'],
  ]);
});

test('a reader reads a stream block by block, and keeps a torn block', () => {
  const acts: Act[] = [
    ['client', GET],
    ['server', `${STREAM}id: 1\nevent: a.b\ndata: {}\n\n: beat\n\nid: 2\nda`],
    ['server', { how: 'cut' }],
  ];
  expect(words(...acts)).toEqual([
    ...['request 1 GET /', 'asked', 'response 1 200', 'frame id=1 event=a.b data={}', 'over 1 server', 'closed'],
  ]);
  const torn = expect.stringContaining('id: 2\nda');
  expect(traffic(...acts).find(({ kind }) => kind === 'over')).toMatchObject({ torn });
});

test.each(['', 'identity', 'Identity'])('a reader reads a stream in the content coding %j', (coding) => {
  const coded = STREAM.replace('\r\n\r\n', `\r\nContent-Encoding: ${coding}\r\n\r\nid: 1\n\n`);
  expect(words(['client', GET], ['server', coded]).at(-1)).toBe('frame id=1');
});

test('a stream counts as ended by the client when the client leaves first', () => {
  const end = { how: 'end' } as const;
  const left = words(['client', GET], ['server', STREAM], ['client', end], ['server', end]);
  expect(left.slice(-2)).toEqual(['over 1 client', 'closed']);
  expect(words(['client', GET], ['server', STREAM], ['server', end]).slice(-2)).toEqual(['over 1 whole', 'closed']);
});

test.each<Side>(['server', 'client'])('a request cut off by the %s has no answer', (side) => {
  expect(words(['client', GET], [side, { how: 'cut' }]).slice(-2)).toEqual([`over 1 ${side}`, 'closed']);
});

test.each<[string, Act[], string]>([
  [
    'an upgrade',
    [
      ['client', 'GET / HTTP/1.1\r\nUpgrade: x\r\n\r\n'],
      ['server', 'HTTP/1.1 101 X\r\n\r\n\0\x01'],
    ],
    'lost it was upgraded to another protocol',
  ],
  ['another protocol', [['client', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n']], 'lost what the client sent is no HTTP/1.1'],
  ['an answer to nothing', [['server', OK]], 'lost the server sent 200, and nothing was asked'],
])('a reader reports nothing more of a connection after %s', (_, acts, why) => {
  expect(words(...acts, ['client', GET], ['server', OK]).at(-1)).toBe(why);
});

test('a reader unpacks a coded body, and keeps a hash of a large one', () => {
  const packed = gzipSync('{"a":1}');
  const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`;
  const coded = Buffer.concat([Buffer.from(head), packed]);
  expect(words(['client', GET], ['server', coded]).at(-1)).toBe('over 1 whole {"a":1}');
  const large = Buffer.alloc(5 * 1024 * 1024, 'x');
  const begun = `HTTP/1.1 200 OK\r\nContent-Length: ${large.length}\r\n\r\n`;
  const over = traffic(['client', GET], ['server', begun], ['server', large]).at(-1);
  const cut = { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) };
  expect(over).toMatchObject({ body: { size: large.length, cut } });
});
