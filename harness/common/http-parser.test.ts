import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MessageParser } from './http-parser.ts';

function read(pieces: readonly Buffer[]): string[] {
  const said: string[] = [];
  let body = '';
  const parser = new MessageParser({
    head({ line, headers }) {
      said.push(`head ${line} ${headers.map((pair) => pair.join('=')).join(' ')}`.trimEnd());
      return 'framed';
    },
    body(piece) {
      body += piece.toString('latin1');
    },
    end() {
      said.push(`end ${body}`);
      body = '';
    },
    wrong: (why) => void said.push(`wrong ${why}`),
  });
  for (const piece of pieces) parser.push(piece, 0);
  if (!parser.end(0)) said.push('in the middle');
  return said;
}

const whole = (text: string): string[] => read([Buffer.from(text, 'latin1')]);

test.each([
  [
    'GET / HTTP/1.1\r\nA: b\r\n\r\nGET /2 HTTP/1.1\r\n\r\n',
    ['head GET / HTTP/1.1 A=b', 'end ', 'head GET /2 HTTP/1.1', 'end '],
  ],
  ['POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc', ['head POST / HTTP/1.1 Content-Length=3', 'end abc']],
  ['POST / HTTP/1.1\nContent-Length: 3\n\nabc', ['head POST / HTTP/1.1 Content-Length=3', 'end abc']],
  [
    'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: t\r\n\r\n',
    ['head POST / HTTP/1.1 Transfer-Encoding=chunked', 'end abc0123456789'],
  ],
  ['\r\n\r\nGET / HTTP/1.1\r\n\r\n', ['head GET / HTTP/1.1', 'end ']],
  ['POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab', ['head POST / HTTP/1.1 Content-Length=3', 'in the middle']],
])('parses %j', (text, said) => {
  expect(whole(text)).toEqual(said);
});

test('repeated fields are recognised, and different ones are kept apart', () => {
  const all = Array.from({ length: 300 }, (_, at) => `GET /${at} HTTP/1.1\r\nA: ${at % 2}\r\nB: ${at % 250}\r\n\r\n`);
  const heads = all.map((_, at) => `head GET /${at} HTTP/1.1 A=${at % 2} B=${at % 250}`);
  expect(whole(all.join(''))).toEqual(heads.flatMap((head) => [head, 'end ']));
});

test.each([
  ['Content-Length: 3\r\nTransfer-Encoding: chunked', 'wrong both Transfer-Encoding and Content-Length'],
  ['Content-Length: 3\r\nContent-Length: 4', 'wrong Content-Length: 3 and 4'],
  ['Content-Length: +3', 'wrong Content-Length: +3'],
  ['Transfer-Encoding: gzip, chunked', 'wrong Transfer-Encoding: gzip, chunked'],
  ['no field', 'wrong a line in a head that is no field'],
])('a head with %j ends the parsing', (fields, why) => {
  expect(whole(`POST / HTTP/1.1\r\n${fields}\r\n\r\nabc`).at(-1)).toBe(why);
});

test('the reason for a refused field has only the beginning of its value', () => {
  const why = whole(`POST / HTTP/1.1\r\nTransfer-Encoding: ${'x'.repeat(5000)}\r\n\r\n`).at(-1);
  expect(why).toMatch(/^wrong Transfer-Encoding: x+…$/);
  expect(why?.length).toBeLessThan(100);
});

test('a head without an end is refused at a limit', () => {
  expect(read(Array(40).fill(Buffer.alloc(10_000, 'x')))).toEqual(['wrong a head of more than 65536 bytes']);
});

test('a head in two reads is parsed, however long the body behind it', () => {
  const body = 'x'.repeat(65_517);
  const pieces = ['HTTP/1.1 200 OK\r\n', `Content-Length: ${body.length}\r\n\r\n${body}`];
  const said = read(pieces.map((piece) => Buffer.from(piece)));
  expect(said).toEqual(['head HTTP/1.1 200 OK Content-Length=65517', `end ${body}`]);
});

test('a value with many blanks inside is read in linear time', () => {
  const value = `x${' '.repeat(200_000)}x`;
  const began = performance.now();
  expect(whole(`GET / HTTP/1.1\r\na: \t${value} \t\r\n\r\n`)).toEqual([`head GET / HTTP/1.1 a=${value}`, 'end ']);
  expect(performance.now() - began).toBeLessThan(20_000);
});

const MESSAGES = [
  'GET /a HTTP/1.1\r\nHost: x\r\n\r\n',
  'POST /b HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello',
  'POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n10\r\n0123456789abcdef\r\n0\r\nx: y\r\n\r\n',
];

test('the result is the same for any split of the bytes', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...MESSAGES), { minLength: 1, maxLength: 5 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 30 }),
      (messages, sizes) => {
        const bytes = Buffer.from(messages.join(''));
        const pieces: Buffer[] = [];
        for (let at = 0, index = 0; at < bytes.length; index += 1) {
          const size = sizes[index % sizes.length] ?? 1;
          pieces.push(bytes.subarray(at, at + size));
          at += size;
        }
        expect(read(pieces)).toEqual(read([bytes]));
      },
    ),
  );
});
