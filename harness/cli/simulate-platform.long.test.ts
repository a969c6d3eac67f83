import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { listenAt } from '../../simulators/defects/null.ts';
import { isLoopback, reachableHost } from '../../simulators/platform/address.ts';
import { NEWEST_VERSION } from '../contract/versions.ts';
import { type Running, refusal, typed, useHome } from './testing/muster.ts';

const home = useHome();
const run = (...options: string[]): Running => home.start(['simulate', 'platform', ...options]);

type Ready = Record<'url' | 'agent_url', string> &
  Partial<Record<'mqtt' | 'api_key' | 'control' | 'control_token' | 'ui', string>>;
const ready = (started: Running): Promise<Ready> => started.ready<Ready>();

const get = (url: string, key: string, path: string) =>
  fetch(`${url}${path}`, { headers: { 'x-api-key': key, 'service-version': NEWEST_VERSION } });

it('muster simulate platform prints its addresses and API key, and keeps the key out of its log', async () => {
  const started = run('--devices', '12', '--seed', '7', '--min-key-bits', '1024');
  const { url, mqtt, api_key: key = '' } = await ready(started);
  expect(new URL(url).pathname).toBe('/beta');
  expect(mqtt).toMatch(/^mqtt:\/\/127\.0\.0\.1:\d+$/);
  const page = (await (await get(url, key, '/devices?expand=total_count')).json()) as { total_count: number };
  expect(page.total_count).toBe(12);
  expect((await started.stop()).code).toBe(0);
  expect(started.stderr).not.toContain(key);
  expect(started.stderr).toContain('platform is up');
});

it('muster simulate platform takes keys with scopes, and never shows them', async () => {
  const keys = typed`--api-key admin=secret --api-key viewer=releases:read,devices:read`;
  const started = run(...keys, '--mqtt', 'none');
  const answer = await ready(started);
  expect(answer).not.toHaveProperty('api_key');
  expect(answer).not.toHaveProperty('mqtt');
  const statuses = [
    await get(answer.url, 'admin=secret', '/groups'),
    await get(answer.url, 'viewer', '/releases'),
    await get(answer.url, 'viewer', '/groups'),
  ].map(({ status }) => status);
  expect(statuses).toEqual([200, 200, 403]);
  expect((await started.stop('SIGINT')).code).toBe(0);
  expect(started.stderr).not.toMatch(/secret|viewer/);
});

it('muster simulate platform prints the token of its control API, or writes it to --control-token', async () => {
  const told = await ready(run('--control', '0', '--mqtt', 'none'));
  const authorized = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
  expect((await fetch(told.control ?? '', authorized(told.control_token ?? ''))).status).toBe(200);
  const file = join(home.path, 'token');
  const answer = await ready(run('--control', '0', '--mqtt', 'none', '--control-token', file));
  expect(answer).not.toHaveProperty('control_token');
  expect((await fetch(answer.control ?? '', authorized(readFileSync(file, 'utf8').trim()))).status).toBe(200);
  expect((await fetch(answer.control ?? '', authorized(`${told.control_token}`))).status).toBe(401);
});

const outside = reachableHost('0.0.0.0');
it.skipIf(isLoopback(outside))(
  'muster simulate platform serves outside clients with a key, and control and page only locally',
  async () => {
    const started = run('--host', '0.0.0.0', '--control', '0', '--ui');
    const { url, agent_url, mqtt = '', api_key: key = '', control = '', ui = '' } = await ready(started);
    expect([url, agent_url, mqtt].map((told) => new URL(told).hostname)).toEqual([outside, outside, outside]);
    expect((await get(url, key, '/devices')).status).toBe(200);
    expect((await fetch(`${url}/devices`)).status).toBe(401);
    expect((await fetch(`${agent_url}/agent/v1/devices/me`)).status).toBeGreaterThanOrEqual(400);
    for (const inner of [control, ui]) {
      const { hostname, port } = new URL(inner);
      expect(hostname).toBe('127.0.0.1');
      await expect(fetch(`http://${outside}:${port}/`)).rejects.toThrow('fetch failed');
    }
    expect((await started.stop()).code).toBe(0);
  },
);

it('muster simulate platform refuses an address of another machine', async () => {
  const message = await refusal(['simulate', 'platform', '--host', '198.51.100.7']);
  expect(message).toBe('--host: 198.51.100.7 is no address of this machine');
});

it('muster simulate platform names an unusable port, database, broker or certificate', async () => {
  await using server = await listenAt(createServer(), { port: 0 });
  const { port } = server;
  const taken = run('--port', String(port));
  expect((await taken.ended).code).toBe(64);
  expect(taken.stderr).toContain(`--port: ${port} is in use`);
  const file = join(home.path, 'notes.txt');
  writeFileSync(file, 'no database at all, but long enough to be looked at as one: '.repeat(20));
  const refused = (...options: string[]) => refusal(['simulate', 'platform', ...options]);
  expect(await refused('--db', file)).toContain(`--db: ${file}: file is not a database`);
  expect(await refused('--mqtt-port', String(port))).toContain(`--mqtt-port: ${port} is in use`);
  const noBroker = '--mqtt: the MQTT broker at 127.0.0.1:1 cannot be used: ';
  expect(await refused('--mqtt', 'mqtt://127.0.0.1:1')).toContain(noBroker);
  expect(await refused('--tls-cert', file, '--tls-key', file)).toContain('--tls-cert, --tls-key: cannot be used: ');
  const db = join(home.path, 'platform.db');
  await ready(run('--db', db));
  expect(await refused('--db', db)).toContain(`--db: ${db}: another process has it open`);
});
