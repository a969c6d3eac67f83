import { existsSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished, vi } from 'vitest';
import { listening } from '../../../harness/common/node-http.ts';
import { eventually, useFolder } from '../../common/testing/scratch.ts';
import { Mirror, serveResults, tokenOfResults } from './mirror.ts';
import { findShards, writeResult } from './shards.ts';
import { resultWith } from './testing/result.ts';

const folder = useFolder();
const TOKEN = 'a-token-of-twenty-c.';
const { signal } = new AbortController();
const shard = (index: number) => ({ index, count: 2 });
const alive = (index: number, beat: number) => ({ shard: shard(index), beat, phase: 'ready' });
const result = (index: number, job = 'job') => resultWith({ shard: shard(index), run_id: 'run', job_id: job });

async function serve(port = 0) {
  const server = await serveResults({ dir: folder('merge'), runId: 'run', token: TOKEN, port, host: '127.0.0.1' });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

const putTo = (port: number, path: string, body: string, token = TOKEN) =>
  fetch(`http://127.0.0.1:${port}${path}`, { method: 'PUT', body, headers: { authorization: `Bearer ${token}` } });

function mirror(port: number, index: number, token = TOKEN) {
  const root = folder(`pod-${index}`);
  const said: string[] = [];
  const url = new URL(`http://127.0.0.1:${port}/`);
  const made = new Mirror({ url, token, root, say: (line) => void said.push(line) });
  onTestFinished(() => made[Symbol.dispose]());
  const own = join(root, 'run', `shard-${index}-of-2`);
  made.follow(own);
  return { made, own, root, said };
}

it('a result is delivered only once, when the merge is reachable', { timeout: 60_000 }, async () => {
  const first = await serve();
  const { port } = first;
  await first[Symbol.asyncDispose]();
  const { made, own, said } = mirror(port, 1);
  writeResult(own, result(1));
  const ending = new AbortController();
  const delivered = made.deliver(ending.signal);
  await eventually(() =>
    expect(said.at(-1)).toMatch(/^--results: delivering the result, for (300|299) s .*ECONNREFUSED/),
  );
  ending.abort();
  await eventually(() => expect(said.at(-1)).toMatch(/delivering the result, for (20|19) s .*ECONNREFUSED/));
  await serve(port);
  expect(await delivered).toBeUndefined();
  const kept = folder('merge/run/shard-1-of-2/result.json');
  expect(readFileSync(kept, 'utf8')).toBe(readFileSync(join(own, 'result.json'), 'utf8'));
  const again = mirror(port, 1);
  expect(await again.made.deliver(signal)).toBeUndefined();
  writeResult(own, result(1, 'another job'));
  expect(await mirror(port, 1).made.deliver(signal)).toMatch(
    /PUT .*: 409, shard-1-of-2 has a result already; only the job that made it may replace it$/,
  );
  rmSync(own, { recursive: true });
  expect(readFileSync(kept, 'utf8')).toContain('"job_id": "job"');
});

it('the merge refuses a wrong token, another run and an invalid result', { timeout: 60_000 }, async () => {
  const { port } = await serve();
  const put = (path: string, body: string, token?: string) => putTo(port, path, body, token);
  const stranger = mirror(port, 1, 'another-token-of-it.');
  writeResult(stranger.own, result(1));
  expect(await stranger.made.deliver(signal)).toMatch(/PUT .*: 401, the token is not that of the merge/);
  await expect(mirror(port, 2, 'another-token-of-it.').made.awaitRun(600_000, signal)).rejects.toThrow(
    /^GET http:\/\/127.*\/run: 401, the token is not that of the merge/,
  );
  const answers = await Promise.all([
    put('/runs/run/shard-1-of-2/result.json', '{}'),
    put('/runs/other/shard-1-of-2/alive.json', '{}'),
    put('/runs/run/shard-1-of-2/..%2fx', '{}'),
    put('/runs/run/../../x/result.json', '{}'),
    put('/runs/run/shard-1-of-2/result.json', '{}', 'x'),
    put('/runs/run/shard-3-of-2/alive.json', '{}'),
    put('/runs/run/shard-2-of-2/alive.json', '{}'),
    put(`/runs/run/shard-${'1'.repeat(300)}-of-2/alive.json`, '{}'),
    put('/runs/run/shard-1-of-2/alive.json', JSON.stringify(alive(0, 1))),
    put('/runs/run/shard-1-of-2/failed.json', '{"shard":{"index":1,"count":2},"reason":5}'),
    put('/runs/run/shard-1-of-2/failed.json', ' '.repeat(70_000)),
    ...['{"shard":{"index":2,"count":2},"phase":"p"}', '{"shard":{"index":2},"beat":1,"phase":"p"}', 'null'].map(
      (sign) => put('/runs/run/shard-2-of-2/alive.json', sign),
    ),
    put('/runs/run/shard-2-of-2/failed.json', '{"shard":{"index":2,"count":2}}'),
  ]);
  const statuses = [409, 409, 404, 404, 401, 404, 409, 404, 409, 409, 409, 409, 409, 409, 409];
  expect(answers.map(({ status }) => status)).toEqual(statuses);
  expect(await answers[8]?.text()).toMatch(/^alive\.json must name the shard of shard-1-of-2/);
  expect(await answers[10]?.text()).toMatch(/^the file has more than 65536 bytes/);
  expect(await answers[0]?.text()).toMatch(/^result\.json is not the result of a fleet/);
  expect(findShards([folder('merge/run')])).toEqual({ parts: [], alive: [], failed: [] });
});

it('a result without a job replaces no other one', { timeout: 60_000 }, async () => {
  const { port } = await serve();
  const put = (notes: string[]) => {
    const body = JSON.stringify(resultWith({ shard: shard(1), run_id: 'run', notes }));
    return putTo(port, '/runs/run/shard-1-of-2/result.json', body);
  };
  const statuses = [await put(['a']), await put(['a']), await put(['b'])].map(({ status }) => status);
  expect(statuses).toEqual([204, 204, 409]);
});

it('a 401 ends an upload before it is whole', { timeout: 60_000 }, async () => {
  const { port } = await serve();
  const upload = connect(port, '127.0.0.1');
  upload.write('PUT /runs/run/shard-1-of-2/result.json HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{');
  expect(await text(upload)).toMatch(/^HTTP\/1\.1 401 /);
  expect(existsSync(folder('merge/run'))).toBe(false);
});

it('a shard that failed is alive again once it is started again', { timeout: 60_000 }, async () => {
  const { port } = await serve();
  const signs = { 'failed.json': { shard: shard(1), reason: 'no room' }, 'alive.json': alive(1, 1) };
  for (const [file, sign] of Object.entries(signs))
    await putTo(port, `/runs/run/shard-1-of-2/${file}`, JSON.stringify(sign));
  expect(findShards([folder('merge/run')])).toMatchObject({ alive: [{ sign: alive(1, 1) }], failed: [] });
});

it('a result is delivered to a merge whose proxy was busy', { timeout: 60_000 }, async () => {
  const statuses = [429];
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(request.method === 'PUT' ? (statuses.shift() ?? 204) : 404).end();
  });
  await using at = await listening(server, 0, '127.0.0.1');
  const { made, own } = mirror(at.port, 1);
  writeResult(own, result(1));
  expect(await made.deliver(signal)).toBeUndefined();
  expect(statuses).toEqual([]);
});

it('a large result has more time on a slow link than a small request', { timeout: 60_000 }, async () => {
  const { timeout } = AbortSignal;
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout.call(AbortSignal, Math.ceil(ms / 20)));
  onTestFinished(() => void vi.restoreAllMocks());
  const server = createServer((request, response) => {
    request.resume();
    setTimeout(() => response.writeHead(204).end(), request.method === 'PUT' ? 2000 : 0);
  });
  await using at = await listening(server, 0, '127.0.0.1');
  const { made, own, said } = mirror(at.port, 1);
  writeResult(own, { ...result(1), notes: ['x'.repeat(5_000_000)] });
  expect(await made.deliver(signal)).toBeUndefined();
  expect(said.filter((line) => line.includes('delivering'))).toEqual([]);
});

it('a shard refuses a run id that leaves its folder', { timeout: 60_000 }, async () => {
  const run = { run_id: '../elsewhere', shards: [{ folder: 'shard-1-of-2', ended: false, alive: alive(1, 1) }] };
  const server = createServer((_, response) => void response.end(JSON.stringify(run)));
  await using at = await listening(server, 0, '127.0.0.1');
  const { made, root } = mirror(at.port, 2);
  await eventually(() => expect(made.trouble).toMatch(/not muster merge --serve: it names no run/));
  expect([existsSync(folder('elsewhere')), existsSync(root)]).toEqual([false, false]);
});

it('a token needs 16 characters or more', () => {
  expect(tokenOfResults({ MUSTER_RESULTS_TOKEN: TOKEN })).toBe(TOKEN);
  const torn = `${TOKEN}\nx`;
  expect(() => tokenOfResults({ MUSTER_RESULTS_TOKEN: torn })).toThrow(/^MUSTER_RESULTS_TOKEN: has a line end as/);
  for (const env of [{}, { MUSTER_RESULTS_TOKEN: 'short' }])
    expect(() => tokenOfResults(env)).toThrow(/MUSTER_RESULTS_TOKEN must hold 16 characters or more/);
});
