import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { listenAt } from '../defects/null.ts';
import { controlRefusal, controlTokenIn, newControlToken } from './control-guard.ts';
import { useScratch } from './testing/scratch.ts';

const token = newControlToken();
const server = http.createServer((request, response) => {
  const refusal = controlRefusal(request, token);
  response.writeHead(refusal?.status ?? 204, refusal?.headers).end(refusal?.message);
});
const { port = 0, close } = await listenAt(server, { port: 0 });
afterAll(close);

function statusOf(lines: readonly string[], body = ''): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.on('data', (part) => (text += part));
    socket.once('error', reject);
    socket.once('close', () => resolve(Number(text.slice(9, 12))));
    socket.write(`POST /reset HTTP/1.1\r\n${lines.join('\r\n')}\r\nConnection: close\r\n\r\n${body}`);
  });
}

const HOST = 'Host: 127.0.0.1:8081';
const AUTHORIZED = `Authorization: Bearer ${token}`;

it.for<[string[], number]>([
  [[HOST, AUTHORIZED], 204],
  [['Host: localhost', AUTHORIZED], 204],
  [['Host: [::1]:1', AUTHORIZED], 204],
  [['HOST: LOCALHOST:99', AUTHORIZED], 204],
  [[HOST, 'Content-Length: 0', 'Content-Type: text/plain', AUTHORIZED], 204],
  [[HOST], 401],
  [[HOST, 'Authorization: Bearer'], 401],
  [[HOST, `Authorization: Bearer ${token}x`], 401],
  [[HOST, `Authorization: Bearer ${token.slice(1)}`], 401],
  [[HOST, `Authorization: Basic ${btoa(token)}`], 401],
  [['Host: evil.example', AUTHORIZED], 403],
  [['Host: 127.0.0.1.evil.example', AUTHORIZED], 403],
  [['Host: 0.0.0.0', AUTHORIZED], 403],
  [['Host:', AUTHORIZED], 403],
  [[HOST, 'Host: evil.example', AUTHORIZED], 400],
  [[HOST, 'Origin: null', AUTHORIZED], 403],
  [[HOST, 'Origin: http://127.0.0.1:8081', AUTHORIZED], 403],
  [[HOST, 'Sec-Fetch-Site: cross-site', AUTHORIZED], 403],
])('a request is served only with the token and a local Host, and not to a web page: %j', async ([lines, status]) => {
  expect(await statusOf(lines)).toBe(status);
});

it.for<[string[], number]>([
  [['Content-Type: application/json'], 204],
  [['Content-Type: Application/JSON; charset=utf-8'], 204],
  [['Content-Type: text/plain'], 415],
  [['Content-Type: application/x-www-form-urlencoded'], 415],
  [['Content-Type: application/jsonx'], 415],
  [[], 415],
])('a request with a body is served only with the type JSON: %j', async ([lines, status]) => {
  const headers = [HOST, AUTHORIZED, ...lines];
  expect(await statusOf([...headers, 'Content-Length: 2'], '{}')).toBe(status);
  expect(await statusOf([...headers, 'Transfer-Encoding: chunked'], '2\r\n{}\r\n0\r\n\r\n')).toBe(status);
});

const home = useScratch();
const file = (): string => join(home.path, 'token');

it('a token file is created for its owner alone, and read at the next call', () => {
  const before = process.umask(0);
  const first = controlTokenIn(file());
  process.umask(before);
  expect(first).toMatch(/^[\w-]{43}$/);
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  expect(controlTokenIn(file())).toBe(first);
  expect(readFileSync(file(), 'utf8')).toBe(`${first}\n`);
});

it('a token file that cannot be written is not left behind', () => {
  const module = new URL('./control-guard.ts', import.meta.url).href;
  const script = `import(${JSON.stringify(module)}).then(({ controlTokenIn }) => controlTokenIn(process.argv[1]))`;
  const line = ['-c', 'ulimit -f 0; exec "$0" --eval "$1" "$2"', process.execPath, script, file()];
  expect(() => execFileSync('sh', line, { stdio: 'pipe' })).toThrow(/EFBIG/);
  expect(existsSync(file())).toBe(false);
});

it('a token file that is a dangling link is refused, and its target is not created', () => {
  const victim = join(home.path, 'victim');
  symlinkSync(victim, file());
  expect(() => controlTokenIn(file())).toThrow(/ENOENT/);
  expect(statSync(victim, { throwIfNoEntry: false })).toBeUndefined();
});

it.for(['', 'short', 'two words in one token', `${'x'.repeat(513)}`])(
  'a token file with a bad token is refused: %j',
  (text) => {
    writeFileSync(file(), text);
    expect(() => controlTokenIn(file())).toThrow(/token holds no token: 16 to 512 characters/);
  },
);
