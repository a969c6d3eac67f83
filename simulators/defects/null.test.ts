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
  async function ask(name: NullServerName, options: http.RequestOptions = {}) {
    using home = scratch();
    await using server = await nullServer(name, place === 'port' ? { port: 0 } : { path: `${home.path}/null.sock` });
    return await get({ ...options, ...(place === 'port' ? { port: server.port } : { socketPath: server.address }) });
  }

  test('one hangs up', async () => {
    await expect(ask('hangs-up')).rejects.toThrow(/hang up|ECONNRESET|EPIPE/);
  });

  test('one finds nothing', async () => {
    expect(await ask('not-found')).toEqual({ status: 404, text: '' });
  });

  test('one answers an empty object', async () => {
    expect(await ask('empty-object')).toEqual({ status: 200, text: '{}' });
  });

  test('one answers an empty list', async () => {
    const { status, text } = await ask('empty-list');
    expect({ status, ...JSON.parse(text) }).toMatchObject({ status: 200, object: 'list', has_more: false, data: [] });
  });

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
    using home = scratch();
    const at = place === 'port' ? { port: 0 } : { path: `${home.path}/null.sock` };
    await using server = await nullServer('packed-body', at);
    const address = place === 'port' ? { port: server.port } : { socketPath: server.address };
    const request = http.get({ path: '/', agent: false, ...address });
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    let packed = 0;
    response.on('data', (piece: Buffer) => {
      packed += piece.length;
    });
    let unpacked = 0;
    for await (const piece of response.pipe(createGunzip())) {
      unpacked += (piece as Buffer).length;
      if (unpacked > 30_000_000) break;
    }
    expect(unpacked).toBeGreaterThan(30_000_000);
    expect(packed).toBeLessThan(2_000_000);
    request.destroy();
  });

  test('one never ends its head', async () => {
    await expect(ask('endless-head')).rejects.toThrow(/overflow/);
  });

  async function readMegabytes(name: NullServerName): Promise<string> {
    using home = scratch();
    await using server = await nullServer(name, place === 'port' ? { port: 0 } : { path: `${home.path}/null.sock` });
    const address = place === 'port' ? { port: server.port } : { socketPath: server.address };
    return await new Promise((resolve, reject) => {
      const request = http.get({ path: '/', agent: false, ...address }, (response) => {
        let text = '';
        response.on('data', (part) => {
          text += part;
          if (text.length > 3_000_000) response.destroy();
        });
        response.once('close', () => resolve(text.slice(0, 1_000)));
      });
      request.once('error', reject);
    });
  }
});
