import { once } from 'node:events';
import http from 'node:http';
import { createGunzip } from 'node:zlib';
import { expect, test } from 'vitest';
import { scratch } from '../device/testing/robot.ts';
import { type NullServerName, nullServer } from './null.ts';

async function answerOf<T>(
  name: NullServerName,
  read: (response: http.IncomingMessage) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  using home = scratch();
  await using server = await nullServer(name, { path: `${home.path}/null.sock` });
  const request = http.get({ socketPath: server.address, path: '/v0.2/events', agent: false, signal });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  return await read(response).finally(() => request.destroy());
}

async function textOf(response: http.IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of response) {
    text += part;
    if (text.length > 3_000_000) break;
  }
  return text;
}

test('one null server never answers, and one never ends its head', async () => {
  await expect(answerOf('never-answers', textOf, AbortSignal.timeout(150))).rejects.toThrow(/abort/);
  await expect(answerOf('endless-head', textOf)).rejects.toThrow(/overflow/);
});

test.for([
  ['floods-comments', /^(: nothing\n\n)+/],
  ['floods-block', /^(data: nothing\n)+/],
  ['endless-body', /^\[0(,0)+/],
] as const)('the null server %s sends more than 3 MB of its pattern', async ([name, pattern]) => {
  const text = await answerOf(name, textOf);
  expect(text.length).toBeGreaterThan(3_000_000);
  expect(text.slice(0, 1_000)).toMatch(pattern);
});

test('a null server sends deeply nested JSON arrays', async () => {
  expect(await answerOf('nested-json', textOf)).toMatch(/^\[{500000}\]{500000}$/);
});

test('a null server sends a small body that unpacks to many megabytes', async () => {
  const [packed, unpacked] = await answerOf('packed-body', async (response) => {
    const sizes: [number, number] = [0, 0];
    response.on('data', (piece: Buffer) => {
      sizes[0] += piece.length;
    });
    for await (const piece of response.pipe(createGunzip())) {
      sizes[1] += (piece as Buffer).length;
      if (sizes[1] > 30_000_000) break;
    }
    return sizes;
  });
  expect(unpacked).toBeGreaterThan(30_000_000);
  expect(packed).toBeLessThan(2_000_000);
});
