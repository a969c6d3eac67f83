import { writeFileSync } from 'node:fs';
import { createServer as createHttps } from 'node:https';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Recorder } from '../client/recorder.ts';
import { Redactor } from '../common/redact.ts';
import { localhostTls } from '../common/testing/localhost-tls.ts';
import { served } from '../common/testing/servers.ts';
import { HttpControl } from './control/ends.ts';
import { openDeviceTarget } from './open-device.ts';
import { inJson, serve, temporaryFolder } from './testing/places.ts';

const folder = temporaryFolder();
const socket = join(folder, 'agent.sock');
const controlSocket = join(folder, 'control.sock');
const options = () => ({ redactor: new Redactor(), env: {} });
const silently = inJson(() => ({}));
const echo = inJson((path, authorization) => ({ path, authorization }));

test('a device target reaches a unix socket without a credential, below the version prefix', async () => {
  await serve(echo, socket);
  await using target = await openDeviceTarget({ ...options(), socket });
  expect(target.unreachable).toBeUndefined();
  expect(target.transport).toMatchObject({ kind: 'unix', socketPath: socket });
  expect(target.capabilities.has('unix')).toBe(true);
  expect((await target.http.get('/events')).json).toEqual({ path: '/v0.2/events' });
  const recorder = new Recorder();
  const check = target.context(recorder, new AbortController().signal);
  expect((await check.http.get('/events')).json).toEqual({ path: '/v0.2/events' });
  expect([recorder.exchanges.length, check.patienceMs]).toEqual([1, 10_000]);
  expect(target.description).toMatchObject({ kind: 'unix', address: `unix:${socket}`, control: 'none' });
});

test('a device target reads port and secret token from a discovery file', async () => {
  const { port } = new URL(await serve(echo));
  const discovery = join(folder, 'discovery.json');
  writeFileSync(discovery, JSON.stringify({ port: Number(port), token: 'a-token-of-the-agent' }));
  const { redactor } = options();
  await using target = await openDeviceTarget({ redactor, env: {}, discovery });
  expect(target.capabilities.has('loopback')).toBe(true);
  const said = { path: '/v0.2/x', authorization: 'Bearer a-token-of-the-agent' };
  expect((await target.http.get('/x')).json).toEqual(said);
  expect(redactor.text('a-token-of-the-agent')).toBe('***');
});

async function withControl(control: string, given: object = {}) {
  await serve(silently, socket);
  writeFileSync(join(folder, 'target.yaml'), `device: {socket: agent.sock}\ncontrol: ${control}\n`);
  return await openDeviceTarget({ ...options(), target: join(folder, 'target.yaml'), ...given });
}
const OF_CONTROL = ['drive', 'compact', 'restart', 'log', 'files'] as const;
const TOKEN = 'tok-1f2e3d4c5b';

test.each<[string, string[], string, number]>([
  ['{heartbeat_seconds: 7}', [], 'none', 7],
  ['{drive: "true", heartbeat_seconds: 7}', ['drive'], 'commands', 7],
  ['{compact: "true"}', ['compact'], 'commands', 30],
  ['{stop: "true", start: "true", event_log: log, config_root: .}', ['restart', 'log', 'files'], 'commands', 30],
  [
    '{drive: "true", stop: "true", start: "true", event_log: log, fill: "true"}',
    ['drive', 'compact', 'restart', 'log'],
    'commands',
    30,
  ],
  ['{event_log: log, fill: "true", drive: "true"}', ['drive', 'log'], 'commands', 30],
  ['{event_log: log, fill: "true", stop: "true", start: "true"}', ['restart', 'log'], 'commands', 30],
  ['{fill: "true", drive: "true", stop: "true", start: "true"}', ['drive', 'restart'], 'commands', 30],
])('the commands %s of a target file give the capabilities %j', async (control, capabilities, kind, heartbeat) => {
  await using target = await withControl(control);
  expect(target.unreachable).toBeUndefined();
  expect(OF_CONTROL.filter((name) => target.capabilities.has(name))).toEqual(capabilities);
  expect(target.description).toMatchObject({ control: kind, capabilities: [...target.capabilities] });
  expect(target.description).not.toHaveProperty('ended');
  expect(await target.diagnostics()).toBe('');
  expect(target.heartbeatSeconds).toBe(heartbeat);
});

test.each([
  ['the token of an option, which is masked', { controlToken: TOKEN }, `Bearer ${TOKEN}`],
  ['the token of the environment, which is masked', { env: { MUSTER_CONTROL_TOKEN: TOKEN } }, `Bearer ${TOKEN}`],
  ['no token of an empty variable', { env: { MUSTER_CONTROL_TOKEN: '' } }, undefined],
])('a control API gets %s', async (_, given, token) => {
  const sent: (string | undefined)[] = [];
  const api = inJson((__, authorization) => {
    sent.push(authorization);
    return { capabilities: ['drive', 'compact', 'log'], heartbeat_seconds: 2, event_log: '/x' };
  });
  const { port } = new URL(await serve(api));
  const redactor = new Redactor();
  await using target = await withControl(`{http: "${port}"}`, { redactor, ...given });
  expect(OF_CONTROL.filter((name) => target.capabilities.has(name))).toEqual(['drive', 'compact', 'log']);
  expect(target.heartbeatSeconds).toBe(2);
  expect(sent).toEqual([token]);
  if (token !== undefined) expect(redactor.text(token)).toBe('Bearer ***');
});

test.each([
  [{ controlToken: 'tok\n1' }, /^--control-token: has a line end as character 4 of 5/],
  [{ env: { MUSTER_CONTROL_TOKEN: 'tok\n1' } }, /^MUSTER_CONTROL_TOKEN: has a line end as character 4 of 5/],
])('a control token that no header can carry is a usage error: %j', async (given, words) => {
  await expect(withControl('{http: "1"}', given)).rejects.toThrow(words);
});

test('an attached control precedes the control of a target file, which complements it', async () => {
  const attached = new HttpControl(controlSocket);
  const answers = inJson(() => ({ capabilities: ['drive'], heartbeat_seconds: 3 }));
  await serve(answers, controlSocket);
  await using target = await withControl('{compact: "true"}', { attach: () => Promise.resolve(attached) });
  expect(OF_CONTROL.filter((name) => target.capabilities.has(name))).toEqual(['drive', 'compact']);
  expect(target.heartbeatSeconds).toBe(3);
});

test('a control API of a target file is complemented by its shell lines', async () => {
  const url = await serve(inJson(() => ({ capabilities: ['drive'] })));
  await using target = await withControl(`{http: "${url}", compact: "true", stop: "true", start: "true"}`);
  expect(OF_CONTROL.filter((name) => target.capabilities.has(name))).toEqual(['drive', 'compact', 'restart']);
  expect(target.description.control).toBe(`http ${url} + commands`);
});

test('a control API over https is trusted by --ca', async () => {
  const server = createHttps(
    localhostTls,
    inJson(() => ({ capabilities: ['drive'] })),
  );
  const ca = join(folder, 'ca.pem');
  writeFileSync(ca, localhostTls.cert);
  await using target = await withControl(`{http: "https://127.0.0.1:${(await served(server)).port}"}`, { ca });
  expect([target.unreachable, target.capabilities.has('drive')]).toEqual([undefined, true]);
});

test('a device with a silent control keeps its transport, and reports the control', async () => {
  await using target = await withControl('{http: none.sock}');
  expect(target.unreachable).toMatch(/^control: .*no such socket.*The device answers, but its control does not: /);
  expect([...target.capabilities].filter((name) => name !== 'root')).toEqual(['unix']);
});

test('a silent device is unreachable, and its requests are closed', async () => {
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

test('a device stays reachable when one endpoint hangs or the server hangs up', async () => {
  const hanging = await serve((request, response) => {
    if (request.method === 'HEAD') response.end();
  });
  const hangingUp = await serve((request) => request.socket.destroy());
  for (const url of [hanging, hangingUp]) {
    await using target = await openDeviceTarget({ ...options(), url, patienceMs: 10_000 });
    expect(target.unreachable).toBeUndefined();
  }
});
