import type { OutgoingHttpHeaders } from 'node:http';
import { expect, test } from 'vitest';
import { firstMessage, send } from '../common/testing/requests.ts';
import { serveConsole, wholeNumber } from './console.ts';
import { Feed } from './feed.ts';
import type { Message } from './page/document.ts';

async function opened(actions = {}) {
  const feed = new Feed<{ title: string; rows: string[] }>({ title: 'one', rows: [] });
  const served = await serveConsole({ page: 'device', title: 'Test', feed, actions });
  return { feed, served, url: served.url, [Symbol.asyncDispose]: () => served[Symbol.asyncDispose]() };
}

function ask(url: string, headers: OutgoingHttpHeaders | readonly string[] = {}, method = 'GET', body = '') {
  const { hostname, port, pathname: path } = new URL(url);
  return send({ hostname, port, path, headers, method }, body);
}

const read = async (url: string): Promise<Message> =>
  JSON.parse(/^data: (.*)$/m.exec(await firstMessage(`${url}events`))?.[1] ?? '') as Message;

test('a console serves only requests with its token, Host and Origin', async () => {
  await using console = await opened();
  const { port, origin, pathname } = new URL(console.url);
  expect((await ask(console.url)).status).toBe(200);
  expect((await ask(`http://localhost:${port}${pathname}`)).status).toBe(200);
  for (const wrong of ['/', '/events', `/${'x'.repeat(22)}/`, `/${'x'.repeat(22)}/events`]) {
    expect((await ask(`${origin}${wrong}`)).status, wrong).toBe(403);
  }
  for (const headers of [
    { host: 'evil.example' },
    { host: `evil.example:${port}` },
    { host: '127.0.0.1:1' },
    ['host', `127.0.0.1:${port}`, 'host', 'evil.example'],
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
  ]) {
    expect((await ask(console.url, headers)).status, JSON.stringify(headers)).toBe(403);
  }
});

test('a console page loads and runs only its own files', async () => {
  await using console = await opened();
  const { headers, text } = await ask(console.url);
  expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self' 'sha256-/);
  expect(headers['referrer-policy']).toBe('no-referrer');
  const named = [...text.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map(([, path]) => path);
  expect(named.length).toBeGreaterThan(8);
  for (const path of named) expect((await ask(`${console.url}${path}`)).status, path).toBe(200);
  for (const path of ['page/tsconfig.json', 'page/../console.ts', 'page/%2e%2e/console.ts', 'console.ts', 'nothing']) {
    expect((await ask(`${console.url}${path}`)).status, path).toBeGreaterThanOrEqual(403);
  }
});

test('a console stream begins with the whole document at every connection', async () => {
  await using console = await opened();
  const { feed, url } = console;
  feed.change({ append: 'rows', items: ['a', 'b'], keep: 2 });
  expect(await read(url)).toEqual({ whole: { title: 'one', rows: ['a', 'b'] } });
  feed.change({ set: 'title', to: 'two' }, { append: 'rows', items: ['c'], keep: 2 });
  expect(await read(url)).toEqual({ whole: { title: 'two', rows: ['b', 'c'] } });
});

test('an action runs once, and a failing or invalid one is refused', async () => {
  const done: unknown[] = [];
  const actions = {
    note: (body: object) => void done.push(body),
    refuse: () => {
      throw new Error('not now');
    },
  };
  await using console = await opened(actions);
  const act = (name: string, body: string, type = 'application/json') =>
    ask(`${console.url}actions/${name}`, { 'content-type': type }, 'POST', body);
  expect((await act('note', '{"a":1}')).status).toBe(200);
  expect(await act('refuse', '{}')).toMatchObject({ status: 422, text: '{"error":{"message":"not now"}}' });
  expect((await act('note', '{"a":2}', 'text/plain')).status).toBe(400);
  expect((await act('note', '[]')).status).toBe(422);
  expect((await act('note', '{')).status).toBe(422);
  expect((await act('toString', '{}')).status).toBe(405);
  expect((await ask(`${console.url}actions/note`)).status).toBe(400);
  expect(done).toEqual([{ a: 1 }]);
});

test('a feed that throws fails its own request, and the console keeps serving', async () => {
  await using console = await opened();
  console.feed.follow = () => {
    throw new Error('planted');
  };
  await expect(fetch(`${console.url}events`)).rejects.toThrow();
  expect((await fetch(console.url)).status).toBe(200);
});

test.each([[5], true, '0x10', '7', 1.5, -1, null, undefined])('the value %j is refused as a count', (value) => {
  expect(() => wholeNumber('count', value)).toThrow('count is a whole number from 0 to');
});
