import { writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Recorder } from '../client/recorder.ts';
import { Redactor } from '../common/redact.ts';
import { localhostTls } from '../common/testing/localhost-tls.ts';
import { served } from '../common/testing/servers.ts';
import { NEWEST_VERSION, SUPPORTED_CODENAMES } from '../contract/versions.ts';
import { openPlatformTarget } from './open-platform.ts';
import { serve, temporaryFolder } from './testing/places.ts';

const folder = temporaryFolder();
const devices = [
  { object: 'device', id: 'dvc_1', status: 'offline' },
  { object: 'device', id: 'dvc_2', status: 'online' },
  { object: 'device', id: 'dvc_3', status: 'inactive' },
];
const platform: RequestListener = (request, response) => {
  const version = request.headers['service-version'] as string;
  const refused = request.headers['x-api-key'] !== 'the-api-key' || version === NEWEST_VERSION;
  response.statusCode = refused ? 400 : request.url?.startsWith('/beta/devices') ? 200 : 404;
  response.setHeader('content-type', 'application/json');
  const data = refused ? [] : devices;
  response.end(JSON.stringify({ object: 'list', limit: 100, offset: 0, has_more: false, data }));
};
const options = () => ({ redactor: new Redactor(), env: {}, apiKey: 'the-api-key' });

test('a platform target declares the capabilities that the platform shows', async () => {
  const url = await serve(platform);
  const given = { ...options(), url, apiVersion: '2026-05-06.rainier', limitedKey: 'less' } as const;
  await using target = await openPlatformTarget(given);
  expect(target.unreachable).toBeUndefined();
  const found = ['limited-key', 'offline-device', 'online-device', 'seed-data', 'write'];
  expect(target.capabilities).toEqual(new Set([...found, ...SUPPORTED_CODENAMES.slice(0, -1)]));
  expect(target).toMatchObject({ onlineDevice: 'dvc_2', offlineDevice: 'dvc_1', versionHeader: 'Service-Version' });
  const control = 'the API itself';
  expect(target.description).toMatchObject({ kind: 'url', address: `${url}/beta`, dialect: 'spec', control });
  const recorder = new Recorder();
  const check = target.context(recorder, new AbortController().signal);
  expect((await check.http.get('/devices')).status).toBe(200);
  expect(recorder.exchanges).toHaveLength(1);
  expect(check).toMatchObject({ apiKey: 'the-api-key', onlineDevice: 'dvc_2', patienceMs: 10_000 });
});

test('a read-only platform target drops a declared write, and keeps a named device', async () => {
  const url = `${await serve(platform)}/beta`;
  const named = { readOnly: true, capability: ['write'], onlineDevice: 'dvc_x' };
  await using target = await openPlatformTarget({ ...options(), ...named, url, apiVersion: '2026-03-09.tetons' });
  expect(target.onlineDevice).toBe('dvc_x');
  expect(target.description.control).toBe('none (read-only)');
  expect([...target.capabilities]).toEqual(expect.arrayContaining(['seed-data', 'online-device']));
  expect(target.capabilities).not.toContain('write');
  await expect(target.http.post('/devices/dvc_x/ping', {})).rejects.toThrow('was not sent: this run only reads');
});

test('a platform target reports a silent platform, and asks nothing more', async () => {
  const asked: (string | undefined)[] = [];
  const url = await serve(({ url: path }) => void asked.push(path));
  await using target = await openPlatformTarget({ ...options(), url, firstAnswerMs: 200 });
  expect(target.unreachable).toContain(`${url}/beta: accepts connections and has answered nothing within 200 ms`);
  expect(asked.toSorted()).toEqual(['/beta/config_types?limit=1', '/beta/devices?limit=1']);
});

test('a platform target declares only versions when the platform answers malformed lists', async () => {
  const url = await serve((_, response) => response.end('[]'));
  await using target = await openPlatformTarget({ ...options(), url, readOnly: true });
  expect(target.unreachable).toBeUndefined();
  expect(target.onlineDevice).toBeUndefined();
  expect(target.capabilities).toEqual(new Set(SUPPORTED_CODENAMES));
});

test.each<[number, Record<string, string>, readonly string[]]>([
  [429, {}, SUPPORTED_CODENAMES],
  [503, { 'retry-after': '0' }, SUPPORTED_CODENAMES],
  [503, {}, SUPPORTED_CODENAMES],
  [500, {}, SUPPORTED_CODENAMES],
  [501, {}, SUPPORTED_CODENAMES.slice(-1)],
  [302, {}, SUPPORTED_CODENAMES.slice(-1)],
])('a version whose first answer is %i with %j is kept unless it is refused', async (status, headers, found) => {
  const known = new Set<unknown>();
  const url = await serve((request, response) => {
    const version = request.headers['service-version'];
    response.writeHead(known.has(version) ? 200 : status, headers).end('[]');
    known.add(version);
  });
  await using target = await openPlatformTarget({ ...options(), url, readOnly: true });
  expect(target.capabilities).toEqual(new Set(found));
});

test('a platform target doubts a base URL at which devices are missing in every version', async () => {
  const said: string[] = [];
  const notify = (text: string): void => void said.push(text);
  const url = await serve((request, response) => {
    if (request.url?.startsWith('/beta/')) platform(request, response);
    else response.writeHead(404).end();
  });
  await using _right = await openPlatformTarget({ ...options(), url, notify });
  expect(said).toEqual([]);
  await using _wrong = await openPlatformTarget({ ...options(), url: `${url}/api`, notify });
  expect(said).toEqual([
    `${url}/api/devices was answered 404 in every version: is --url right? A base URL may end in a path, e.g. /beta`,
  ]);
});

test('a platform target reports an unreachable platform with a command to try', async () => {
  await using target = await openPlatformTarget({ ...options(), patienceMs: 200, url: 'http://127.0.0.1:1/beta' });
  expect(target.unreachable).toMatch(/connection refused.*Try: curl .*\$MUSTER_API_KEY.*:1\/beta\/devices/);
});

test('a platform target trusts over https only the certificate of --ca', async () => {
  const url = `https://127.0.0.1:${(await served(createHttps(localhostTls, platform))).port}/beta`;
  const ca = join(folder, 'ca.pem');
  writeFileSync(ca, localhostTls.cert);
  await using trusting = await openPlatformTarget({ ...options(), url, ca, apiVersion: '2026-05-06.rainier' });
  expect(trusting.unreachable).toBeUndefined();
  expect(trusting.onlineDevice).toBe('dvc_2');
  await using wary = await openPlatformTarget({ ...options(), url });
  expect(wary.unreachable).toMatch(/signed by an authority that is not trusted here; --ca FILE names one/);
  await trusting.http.get('/devices');
  expect(trusting.http.recorder.exchanges.at(-1)?.curl).toContain(`curl -s -i --max-time 10 --cacert ${ca} `);
});
