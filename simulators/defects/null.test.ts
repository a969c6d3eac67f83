import { once } from 'node:events';
import http from 'node:http';
import { createGunzip } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { scratch } from '../device/testing/robot.ts';
import { type NullServerName, nullServer } from './null.ts';

function get(options: http.RequestOptions): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const request = http.get({ path: '/v0.2/events', agent: false, ...options }, (response) => {
      let text = '';
      response.on('data', (part) => (text += part));
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    request.once('error', reject);
  });
}

describe.for(['socket', 'port'] as const)('on a %s', (place) => {
  async function at<T>(name: NullServerName, use: (address: http.RequestOptions) => Promise<T>): Promise<T> {
    using home = scratch();
    await using server = await nullServer(name, place === 'port' ? { port: 0 } : { path: `${home.path}/null.sock` });
    return await use(place === 'port' ? { port: server.port } : { socketPath: server.address });
  }
  const ask = (name: NullServerName, options: http.RequestOptions = {}) =>
    at(name, (address) => get({ ...options, ...address }));

  test('one never answers', async () => {
    await expect(ask('never-answers', { signal: AbortSignal.timeout(150) })).rejects.toThrow(/abort/);
  });

  test.for([
    ['floods-comments', /^(: nothing\n\n)+/],
    ['floods-block', /^(data: nothing\n)+/],
    ['endless-body', /^\[0(,0)+/],
  ] as const)('%s sends megabytes, and goes on', async ([name, pattern]) => {
    const text = await readMegabytes(name);
    expect(text).toMatch(pattern);
  });

  test('one nests arrays, which are JSON', async () => {
    const { text } = await ask('nested-json');
    expect(text).toMatch(/^\[{500000}\]{500000}$/);
  });

  test('one packs far more than it sends', async () => {
    let [packed, unpacked] = [0, 0];
    await at('packed-body', async (address) => {
      const request = http.get({ path: '/', agent: false, ...address });
      const [response] = (await once(request, 'response')) as [http.IncomingMessage];
      response.on('data', (piece: Buffer) => {
        packed += piece.length;
      });
      for await (const piece of response.pipe(createGunzip())) {
        unpacked += (piece as Buffer).length;
        if (unpacked > 30_000_000) break;
      }
      request.destroy();
    });
    expect(unpacked).toBeGreaterThan(30_000_000);
    expect(packed).toBeLessThan(2_000_000);
  });

  test('one never ends its head', async () => {
    await expect(ask('endless-head')).rejects.toThrow(/overflow/);
  });

  const readMegabytes = (name: NullServerName): Promise<string> =>
    at(
      name,
      (address) =>
        new Promise((resolve, reject) => {
          const request = http.get({ path: '/', agent: false, ...address }, (response) => {
            let text = '';
            response.on('data', (part) => {
              text += part;
              if (text.length > 3_000_000) response.destroy();
            });
            response.once('close', () => resolve(text.slice(0, 1_000)));
          });
          request.once('error', reject);
        }),
    );
});
