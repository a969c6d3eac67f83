/** A device that wakes up is waited for, and one that never answers is out of reach: found out once, for all checks. */

import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { Redactor } from '../client/redact.ts';
import { openDeviceTarget } from './open-device.ts';

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const options = () => ({ redactor: new Redactor(), env: {} });

test('a first answer may take longer than the patience of a check', async () => {
  const url = await serve((_, response) => void setTimeout(() => response.writeHead(404).end(), 600));
  await using target = await openDeviceTarget({ ...options(), url, patienceMs: 400, firstAnswerMs: 30_000 });
  expect(target.unreachable).toBeUndefined();
});

test('a silent device is out of reach, and its requests are ended', async () => {
  const asked: string[] = [];
  const closed: Promise<unknown>[] = [];
  const url = await serve((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    closed.push(new Promise((resolve) => response.once('close', resolve)));
  });
  await using target = await openDeviceTarget({ ...options(), url, firstAnswerMs: 200 });
  expect(target.unreachable).toContain('accepts connections and has answered nothing within 200 ms. Try: curl');
  expect(asked.toSorted()).toEqual(['GET /v0.2/deployments/current', 'HEAD /v0.2/events']);
  await Promise.all(closed);
});

test('one endpoint that hangs is left to the checks, and so is a server that hangs up', async () => {
  const hanging = await serve((request, response) => {
    if (request.method === 'HEAD') response.end();
  });
  const hangingUp = await serve((request) => request.socket.destroy());
  for (const url of [hanging, hangingUp]) {
    await using target = await openDeviceTarget({ ...options(), url, patienceMs: 10_000 });
    expect(target.unreachable).toBeUndefined();
  }
});
