import http from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { listenAt } from '../../simulators/defects/null.ts';
import { simulatePlatform } from '../../simulators/platform/index.ts';
import { printed, reportIn, typed, useFolder } from './testing/muster.ts';

const at = useFolder();
const KEY = 'key_0123456789abcdef';
const CHECKS = ['platform.list.created', 'platform.group.tree', 'platform.list.envelope', 'platform.list.defaults'];

function cacheBefore(url: string, keptMs: number) {
  const { origin } = new URL(url);
  const ask = async (request: http.IncomingMessage) => {
    const { method = 'GET', url: path = '/' } = request;
    const names = ['x-api-key', 'service-version', 'content-type'].filter((name) => name in request.headers);
    const headers = Object.fromEntries(names.map((name) => [name, String(request.headers[name])]));
    const sent = await text(request);
    const answer = await fetch(origin + path, { method, headers, ...(sent !== '' && { body: sent }) });
    const { connection: _, 'transfer-encoding': __, ...rest } = Object.fromEntries(answer.headers);
    return { at: Date.now(), status: answer.status, headers: rest, body: await answer.text() };
  };
  const kept = new Map<string, Awaited<ReturnType<typeof ask>>>();
  const counts = { replayed: 0 };
  const server = http.createServer(async (request, response) => {
    const key = [request.url, request.headers['x-api-key'], request.headers['service-version']].join(' ');
    const old = request.method === 'GET' ? kept.get(key) : undefined;
    const isKept = old !== undefined && Date.now() - old.at < keptMs;
    const answer = isKept ? old : await ask(request).catch(() => undefined);
    if (answer === undefined) return response.destroy();
    if (isKept) counts.replayed += 1;
    else if (request.method === 'GET') kept.set(key, answer);
    if (isKept) response.setHeader('age', Math.floor((Date.now() - answer.at) / 1000));
    return response.writeHead(answer.status, answer.headers).end(answer.body);
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

test('checks pass behind a cache that keeps answers for one second', async () => {
  const { code, counts, outcomes } = await checkedBehind(1000);
  expect(counts.replayed).toBeGreaterThan(0);
  expect(outcomes).toEqual(Object.fromEntries(Object.keys(outcomes).map((id) => [id, 'pass'])));
  expect(code).toBe(0);
});

test('a check names the new group that a cache hides for an hour', async () => {
  const { code, counts, outcomes, checks } = await checkedBehind(3_600_000);
  expect(counts.replayed).toBeGreaterThan(0);
  expect(outcomes).toMatchObject({ 'platform.group.tree': 'fail', 'platform.list.envelope': 'pass' });
  expect(checks.find(({ id }) => id === 'platform.group.tree')?.expected).toMatch(/^grp_\w+ named /);
  expect(code).toBe(1);
});
