/** `check platform` behind a cache: answers that are late are no findings, and answers that stay old are. */
import http from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { listenAt } from '../../simulators/defects/null.ts';
import { simulatePlatform } from '../../simulators/platform/index.ts';
import { printed, reportIn, typed, useFolder } from './testing/muster.ts';

const at = useFolder();
const KEY = 'key_0123456789abcdef';
const CHECKS = ['platform.list.created', 'platform.group.tree', 'platform.list.envelope', 'platform.list.defaults'];

interface Kept {
  at: number;
  status: number;
  headers: http.IncomingHttpHeaders;
  body: Buffer;
}

async function bytesOf(stream: http.IncomingMessage): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync<Buffer>(stream));
}

/** Answers each GET again as it did first, for so long, with its first `Date` and an `Age`. */
function cacheBefore(url: string, keptMs: number) {
  const { hostname, port } = new URL(url);
  const kept = new Map<string, Kept>();
  const counts = { replayed: 0 };
  const ask = async (request: http.IncomingMessage): Promise<Kept> => {
    const { method, url: path, headers } = request;
    const body = await bytesOf(request);
    const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
    const asked = { hostname, port, path: path ?? '/', method: method ?? 'GET', headers, agent: false as const };
    http.request(asked, resolve).on('error', reject).end(body);
    const answer = await promise;
    const { 'transfer-encoding': _, connection, ...rest } = answer.headers;
    return { at: Date.now(), status: answer.statusCode ?? 502, headers: rest, body: await bytesOf(answer) };
  };
  const server = http.createServer(async (request, response) => {
    const key = [request.url, request.headers['x-api-key'], request.headers['service-version']].join(' ');
    const old = request.method === 'GET' ? kept.get(key) : undefined;
    const isKept = old !== undefined && Date.now() - old.at < keptMs;
    const answer = isKept ? old : await ask(request).catch(() => undefined);
    if (answer === undefined) return response.destroy();
    if (isKept) counts.replayed += 1;
    else if (request.method === 'GET') kept.set(key, answer);
    const age = Math.floor((Date.now() - answer.at) / 1000);
    if (isKept) response.setHeader('age', age);
    for (const [name, value] of Object.entries(answer.headers))
      if (value !== undefined) response.setHeader(name, value);
    return response.writeHead(answer.status).end(answer.body);
  });
  return { server, counts };
}

async function checkedBehind(keptMs: number) {
  const platform = await simulatePlatform({ keys: [{ key: KEY, scopes: 'all' }], devices: 5, mqtt: false });
  onTestFinished(() => platform[Symbol.asyncDispose]());
  const { server, counts } = cacheBefore(platform.url, keptMs);
  await using listening = await listenAt(server, { port: 0 });
  const report = at('report.json');
  const words = typed`check platform --url ${listening.address}/beta --api-key ${KEY} --only ${CHECKS}`;
  const { code } = await printed([...words, ...typed`--report json=${report}`]);
  const { checks } = reportIn(report);
  const ran = checks.filter(({ outcome }) => outcome !== 'not_applicable');
  return { code, counts, outcomes: Object.fromEntries(ran.map(({ id, outcome }) => [id, outcome])), checks };
}

test('one second behind, nothing is found', async () => {
  const { code, counts, outcomes } = await checkedBehind(1000);
  expect(counts.replayed).toBeGreaterThan(0);
  expect(outcomes).toEqual(Object.fromEntries(Object.keys(outcomes).map((id) => [id, 'pass'])));
  expect(code).toBe(0);
});

test('an hour behind, what was written and is never shown is named', async () => {
  const { code, counts, outcomes, checks } = await checkedBehind(3_600_000);
  expect(counts.replayed).toBeGreaterThan(0);
  expect(outcomes).toMatchObject({
    'platform.group.tree': 'fail',
    'platform.list.envelope': 'pass',
  });
  const tree = checks.find(({ id }) => id === 'platform.group.tree');
  expect(tree?.expected).toMatch(/^grp_\w+ named /);
  expect(code).toBe(1);
});
