/** Compares requests with recorded ones of well-known clients (fixtures/known-clients). */
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { EQUIVALENT_FORMS } from './equivalent-forms.ts';
import { usualUserAgent } from './known-clients.ts';
import { clientOf } from './testing/served.ts';

const DIR = join(import.meta.dirname, '../../fixtures/known-clients');
const RECORDED = readdirSync(DIR)
  .filter((file) => file.endsWith('.http'))
  .flatMap((file) => {
    const [, ...requests] = readFileSync(join(DIR, file), 'utf8').split('###\n');
    return requests.map((text) => ({ file, line: text.split('\n')[0] ?? '', text }));
  });
const isBrowser = ({ file }: { file: string }): boolean => file === 'chromium.http';

/** Headers that the recorded program set itself; its HTTP client set the others. */
const SET = ['accept', 'content-type', 'x-api-key', 'service-version', 'last-event-id'];

function partsOf(text: string) {
  const [head = '', body = ''] = text.split('\n\n');
  const [line = '', ...lines] = head.split('\n');
  const [method = '', path = ''] = line.split(' ');
  const headers = lines.map((each): [string, string] => {
    const at = each.indexOf(': ');
    return [each.slice(0, at).toLowerCase(), each.slice(at + 2)];
  });
  return { method, path, headers: Object.fromEntries(headers), body: body.trimEnd() };
}

async function received({ file, text }: (typeof RECORDED)[number]): Promise<string> {
  const came = Promise.withResolvers<string>();
  const server = createServer((socket) => {
    let bytes = '';
    socket
      .on('error', () => {})
      .on('data', (piece) => {
        bytes += piece.toString('latin1');
        const end = bytes.indexOf('\r\n\r\n');
        const length = Number(/content-length: (\d+)/i.exec(bytes)?.[1] ?? 0);
        if (end < 0 || bytes.length < end + 4 + length) return;
        came.resolve(bytes);
        socket.end('HTTP/1.1 204 No Content\r\n\r\n');
      });
  });
  const { method, path, headers, body } = partsOf(text);
  const set = Object.entries(headers).filter(([name, value]) => SET.includes(name) && value !== '*/*');
  const http = await clientOf(server, {
    headers: { 'user-agent': headers['user-agent'] ?? '' },
    form: isBrowser({ file }) ? EQUIVALENT_FORMS.find(({ name }) => name.includes('Chromium')) : undefined,
  });
  await http.request({ method, path, headers: Object.fromEntries(set), ...(body === '' ? {} : { body }) });
  return (await came.promise).replaceAll('\r\n', '\n').replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:8080');
}

it.each(RECORDED)('sends $line as $file has it', async (each) => {
  const sent = (await received(each)).trimEnd();
  // Chromium orders headers that a program sets by a hash table.
  const isSorted = isBrowser(each) && each.text.includes('X-API-Key');
  const linesOf = (text: string): string => (isSorted ? text.split('\n').toSorted().join('\n') : text);
  expect(linesOf(sent)).toBe(linesOf(each.text.trimEnd()));
});

it('draws each recorded client by some seed', () => {
  const drawn = new Set(Array.from({ length: 20 }, (_, seed) => usualUserAgent(seed)));
  const recorded = RECORDED.filter((each) => !isBrowser(each)).map(({ text }) => partsOf(text).headers['user-agent']);
  expect(drawn).toEqual(new Set(recorded));
});
