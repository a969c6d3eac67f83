import { randomUUID } from 'node:crypto';
import { connect, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { listenAt } from '../../simulators/defects/null.ts';
import { simulateDevice, simulatePlatform } from '../../simulators/index.ts';
import { usualUserAgent } from '../client/known-clients.ts';
import { muster, typed, useFolder } from './testing/muster.ts';

const at = useFolder();

async function relay(to: { port: number } | { path: string }) {
  const heard: Buffer[][] = [];
  const server = createServer((client) => {
    const upstream = connect(to as { path: string });
    const own: Buffer[] = [];
    heard.push(own);
    client.on('data', (bytes: Buffer) => own.push(bytes));
    client.pipe(upstream).pipe(client);
    for (const one of [client, upstream]) one.on('error', () => [client, upstream].map((each) => each.destroy()));
  });
  const { address, close } = await listenAt(server, { port: 0 });
  return {
    url: address,
    heard: () => heard.map((own) => Buffer.concat(own).toString('latin1')).join('\n'),
    [Symbol.asyncDispose]: close,
  };
}

async function heardBy(api: 'device' | 'platform', options: readonly string[]): Promise<string> {
  if (api === 'platform') {
    await using platform = await simulatePlatform({ devices: 20 });
    const { port, pathname } = new URL(platform.url);
    await using asked = await relay({ port: Number(port) });
    const url = asked.url + pathname;
    await muster(...typed`check platform --url ${url} --api-key ${platform.apiKey} --fast ${options}`);
    return asked.heard();
  }
  const control = at(`${randomUUID()}.sock`);
  await using device = await simulateDevice({ control: { path: control } });
  await using asked = await relay({ path: device.socketPath ?? expect.unreachable() });
  await using driven = await relay({ path: control });
  await muster(...typed`check device --url ${asked.url} --control ${driven.url} --fast ${options}`);
  return asked.heard() + driven.heard();
}

/** Only the beginning of a name, because some names have megabytes. */
const RECORD = /^muster([a-z-]+\d[0-9a-f]{7}|[0-9a-z]{1,6}x\d)/;

const usersAgents = (text: string): string[] => [
  ...new Set([...text.matchAll(/^user-agent: (.*)\r$/gim)].map(([, name = '']) => name)),
];

test.each(['device', 'platform'] as const)('requests to a %s name neither Muster nor a test', async (api) => {
  const heard = await heardBy(api, ['--seed', '8']);
  expect(heard.length).toBeGreaterThan(20_000);
  const marks = [...heard.matchAll(/muster[\w-]*|conformance|\btests?\b/gi)]
    // A refusal may cut a request within a name, where the traffic of the connection ends.
    .filter(({ 0: word, index }) => api === 'device' || !(RECORD.test(word) || heard[index + word.length] === '\n'))
    .map(({ index }) => heard.slice(index - 60, index + 60));
  expect(marks.slice(0, 5)).toEqual([]);
  expect(usersAgents(heard)).toContain(usualUserAgent(8));
  expect(heard).not.toMatch(/^connection: close\r$/im);
});

test.each(['device', 'platform'] as const)('--identify names Muster to a %s', async (api) => {
  const only = api === 'device' ? 'device.deployment*' : 'platform.list*';
  const heard = await heardBy(api, ['--identify', '--only', only]);
  expect(usersAgents(heard)).toEqual([expect.stringMatching(/^muster-conformance\/\d/)]);
});
