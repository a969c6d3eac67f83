import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { HttpClient } from '../../client/http.ts';
import { Recorder } from '../../client/recorder.ts';
import { Redactor } from '../../common/redact.ts';
import { served } from '../../common/testing/servers.ts';
import { temporaryFolder } from '../testing/places.ts';
import { acceptsControl, loopback, unix, url, whyUnreachable } from './index.ts';

const folder = temporaryFolder();
const given = (address: string) => ({ address, fields: {}, redactor: new Redactor() });

it.each([
  ['a folder', folder, `${folder} is a folder, and no socket`],
  ['a file', join(folder, 'file'), 'is a file, and no socket'],
  ['an address with a scheme', `unix://${folder}/none.sock`, `curl --unix-socket ${folder}/none.sock `],
])('a socket at %s gives a hint', (_, address, words) => {
  writeFileSync(join(folder, 'file'), '');
  expect(unix.open(given(address)).hint).toContain(words);
});

it('a socket that is served is accepted by its path and with a scheme, and no command may serve there', async () => {
  const path = join(folder, 'served.sock');
  await served(createServer(), path);
  for (const address of [path, `unix:${path}`, `unix://${path}`]) {
    expect(await unix.accepts(address)).toBe(true);
    await expect(unix.prepare(address)).rejects.toThrow('something else already serves');
  }
});

describe('loopback', () => {
  const file = (content: unknown): string => {
    const path = join(folder, 'discovery.json');
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  };

  it.each([
    ['no file', undefined, /no such discovery file/],
    ['no JSON', '{', /is not JSON/],
    ['no token', { port: 8080 }, /is not a discovery file: .*token/],
    ['a token with a line end', { port: 8080, token: 'a\n' }, /its token has a line end, or another character/],
    ['null', null, /d.*\.json is not a discovery file/],
    ['a port in words', { port: '8o', token: 'a-token' }, /is not a discovery file: \/port/],
  ])('reports %s as the problem of the connection', async (_, content, problem) => {
    const path = content === undefined ? join(folder, 'none.json') : file(content);
    expect(loopback.open(given(path)).problem).toMatch(problem);
    expect(await loopback.accepts(path)).toBe(false);
  });

  it('accepts a port in quotes in the discovery file', () => {
    expect(loopback.open(given(file({ port: '8080', token: 'a-token' })))).toMatchObject({
      port: 8080,
      problem: undefined,
    });
  });

  it('follows the discovery file, and keeps its place without a usable file', () => {
    const redactor = new Redactor();
    const connection = loopback.open({ ...given(file({ port: 8080, token: 'the-first-token' })), redactor });
    const http = connection.client(new Recorder(redactor)).with({ timeoutMs: 1 });
    const place = () => [connection.port, http.describe(), { ...http.headers }];
    expect(place()).toEqual([8080, 'http://127.0.0.1:8080/v0.2', { authorization: 'Bearer the-first-token' }]);
    file({ port: 8081, token: 'the-second-token' });
    const second = [8081, 'http://127.0.0.1:8081/v0.2', { authorization: 'Bearer the-second-token' }];
    expect(place()).toEqual(second);
    expect(redactor.text('the-second-token')).toBe('***');
    file('{');
    expect(place()).toEqual(second);
  });
});

it.each([
  ['ftp://127.0.0.1/', /http:\/\/ or https:\/\//],
  ['no address', /must be an http/],
  ['http://a@127.0.0.1/', /credentials do not belong/],
  ['http://:b@127.0.0.1/', /credentials do not belong/],
  ['http://127.0.0.1/?x=1', /must end with the path/],
  ['http://127.0.0.1/#x', /must end with the path/],
])('a URL is refused as %s', (address, words) => {
  expect(() => url.open(given(address))).toThrow(words);
});

it.each([
  ['http://127.0.0.1:8080', '/v0.2'],
  ['http://127.0.0.1:8080/', '/v0.2'],
  ['http://127.0.0.1:8080/robots/7', '/robots/7/v0.2'],
  ['http://127.0.0.1:8080/robots/7/v0.2/', '/robots/7/v0.2'],
])('a URL %s has the base path %s and the token', (address, basePath) => {
  const connection = url.open({ ...given(address), fields: { token: 'a-token' } });
  const { endpoint, headers, ...http } = connection.client(new Recorder());
  expect(http.basePath).toBe(basePath);
  expect(endpoint).toEqual({ origin: 'http://127.0.0.1:8080' });
  expect(headers).toEqual({ authorization: 'Bearer a-token' });
});

const hints = ['curl --unix-socket /a.sock http://localhost/v0.2/', 'Bearer $MUSTER_TOKEN', 'curl -i http://x/v0.2'];
it.each([
  ['unix', unix.open(given('/a.sock')), 'unix:/a.sock', 1_200_000, hints[0]],
  ['loopback', loopback.open(given('/d.json')), 'http://127.0.0.1:1 (from /d.json)', 4_500_000, hints[1]],
  ['url', url.open(given('http://x/')), 'http://x', 4_500_000, hints[2]],
])(
  'a connection of the transport %s has its kind, address and hint',
  (kind, connection, address, bufferBytes, hint) => {
    expect(connection).toMatchObject({ kind, address, bufferBytes });
    expect(connection.hint).toContain(hint);
    expect(connection.capabilities.filter((name) => name !== 'root')).toEqual(kind === 'url' ? [] : [kind]);
    expect(connection.capabilities.includes('root')).toBe(kind === 'unix' && process.getuid?.() === 0);
  },
);

it('a connection is accepted where a server listens, under any scheme', async () => {
  const { port } = await served(createServer());
  for (const address of [`http://127.0.0.1:${port}/x`, `https://localhost:${port}/x`])
    expect(await url.accepts(address)).toBe(true);
  expect(await url.accepts('http://127.0.0.1:1/x')).toBe(false);
});

it('a connection is accepted at an IPv6 address in brackets', async (context) => {
  const server = createServer();
  onTestFinished(() => void server.close());
  const why = await once(server.listen(0, '::1'), 'listening').then(() => undefined, String);
  if (why !== undefined) context.skip(`no ::1 on this machine (${why})`);
  const address = `http://[::1]:${(server.address() as AddressInfo).port}`;
  expect([await url.accepts(address), await acceptsControl(address)]).toEqual([true, true]);
});

it('a connection is retried only where nothing listens yet', async () => {
  const answers = (...codes: string[]) => {
    const connect = vi.fn(async () => ({ destroy: () => {} }));
    for (const code of codes) connect.mockRejectedValueOnce(Object.assign(new Error(code), { code }));
    return { describe: () => 'http://x', connect } as unknown as HttpClient;
  };
  const starting = answers('ECONNREFUSED', 'ENOENT');
  expect(await whyUnreachable(starting, '', 60_000)).toBeUndefined();
  expect(starting.connect).toHaveBeenCalledTimes(3);
  expect(await whyUnreachable(answers('ECONNREFUSED'), '')).toContain('ECONNREFUSED');
  expect(await whyUnreachable(answers('ENOTFOUND'), '', 60_000)).toContain('ENOTFOUND');
});
