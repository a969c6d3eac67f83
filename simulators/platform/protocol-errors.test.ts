/** What is no request, or one that the router does not know, is answered like every other refusal. */
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPlatform, type TestPlatform } from './testing/kit.ts';

let platform: TestPlatform;
beforeAll(async () => {
  platform = await startPlatform({ mqtt: {} });
});
afterAll(() => platform.stop());

/** Everything that is answered to these bytes. */
function talk(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(platform.url).port), '127.0.0.1');
    let text = '';
    socket.on('data', (part) => (text += part));
    // The platform hangs up while it is still being sent to.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (!['ECONNRESET', 'EPIPE'].includes(error.code ?? '')) reject(error);
    });
    socket.once('close', () => resolve(text));
    socket.write(bytes);
  });
}

const HOST = 'Host: x\r\nConnection: close\r\n';

describe('an answer in the form of the platform', () => {
  it.for<[string, string, number]>([
    ['garbage', '\x16\x03\x01\x02\x00\r\n\r\n', 400],
    ['HTTP/9.9', `GET /beta/devices HTTP/9.9\r\n${HOST}\r\n`, 400],
    ['a header without a colon', `GET /beta/devices HTTP/1.1\r\n${HOST}no colon\r\n\r\n`, 400],
    ['two lengths', `POST /beta/devices HTTP/1.1\r\n${HOST}Content-Length: 1\r\nContent-Length: 2\r\n\r\nx`, 400],
    [
      'a length and chunks',
      `POST /beta/devices HTTP/1.1\r\n${HOST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    ['headers of 100 kB', `GET /beta/devices HTTP/1.1\r\n${HOST}X: ${'x'.repeat(100_000)}\r\n\r\n`, 431],
    ['a method that the router does not know', `M-SEARCH /beta/devices HTTP/1.1\r\n${HOST}\r\n`, 405],
    ['such a method elsewhere', `PURGE /nothing HTTP/1.1\r\n${HOST}\r\n`, 404],
    ['such a method on the side of agents', `PROPFIND /agent/v1/nothing HTTP/1.1\r\n${HOST}\r\n`, 400],
    ['a path that cannot be decoded', `GET /%zz HTTP/1.1\r\n${HOST}\r\n`, 400],
  ])('is given to %s', async ([, bytes, status]) => {
    const answer = await talk(bytes);
    expect(Number(answer.slice(9, 12)), answer).toBe(status);
    const { error } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as { error: object };
    expect(error).toEqual({ code: expect.any(String), params: expect.any(Object), message: expect.any(String) });
  });

  it('is given once, and the platform goes on', async () => {
    const answer = await talk(`GET /beta/x HTTP/1.1\r\nHost: x\r\n\r\n\x00\x00`);
    expect([...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status).at(-1)).toMatch(/^4/);
    expect((await platform.get('/devices')).status).toBe(200);
  });
});
