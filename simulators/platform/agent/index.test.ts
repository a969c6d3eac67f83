import type { InjectOptions } from 'fastify';
import { afterAll, describe, expect, it } from 'vitest';
import type { AgentDevice } from '../../../harness/contract/agent.ts';
import { agentHost, deviceJwt, type RobotKey, robotKey } from './testing/agent-host.ts';

const host = await agentHost();
afterAll(() => host[Symbol.asyncDispose]());

async function call(method: 'GET' | 'POST' | 'PATCH', path: string, bearer?: string, body?: object) {
  const request: InjectOptions = {
    method,
    url: `/agent/v1${path}`,
    headers: { 'service-version': 'v0.4', ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }) },
  };
  const response = await host.app.inject({ ...request, ...(body && { payload: body }) });
  return { status: response.statusCode, headers: response.headers, text: response.body, json: () => response.json() };
}

async function robot(key: RobotKey) {
  const { platform } = host;
  const name = `robot ${platform.devices.size}`;
  const body = { public_key_pem: key.publicPem, agent_version: 'v1', name };
  const device: AgentDevice = (await call('POST', '/devices/provision', platform.provisioningToken(), body)).json();
  const { token } = (await call('POST', '/devices/token', deviceJwt(key, Date.now()))).json();
  return { id: device.id, token: String(token), device };
}

describe('provisioning', () => {
  it.each([
    ['no body', undefined],
    ['a missing name', { public_key_pem: robotKey().publicPem, agent_version: 'v1' }],
    ['a name of 49 characters', { public_key_pem: robotKey().publicPem, agent_version: 'v1', name: 'x'.repeat(49) }],
    ['a text that is no key', { public_key_pem: 'key', agent_version: 'v1', name: 'x' }],
    ['a key of 1024 bits', { public_key_pem: robotKey('small', 1024).publicPem, agent_version: 'v1', name: 'x' }],
  ])('refuses %s, and does not spend the token', async (what, body) => {
    const token = host.platform.provisioningToken();
    expect((await call('POST', '/devices/provision', token, body)).status).toBe(400);
    const good = { public_key_pem: robotKey('third').publicPem, agent_version: 'v1', name: `after ${what}` };
    expect((await call('POST', '/devices/provision', token, good)).status).toBe(200);
  });
});

describe('a device', () => {
  it('lists its own deployments, with filters and pages', async () => {
    const one = await robot(robotKey('one'));
    const two = await robot(robotKey('two'));
    const ids = Array.from({ length: 3 }, () => host.platform.deploy(one.id, { '/a': '1' }).id);
    host.platform.deploy(two.id, { '/b': '2' });
    const all = (await call('GET', '/deployments?expand=total_count', one.token)).json();
    expect(all).toMatchObject({ object: 'list', limit: 10, offset: 0, has_more: false, total_count: 3 });
    expect(all.data.map(({ id }: { id: string }) => id)).toEqual(ids);
    const queued = (await call('GET', '/deployments?activity_status=queued%7Cdeployed', one.token)).json();
    expect(queued.data.map(({ id }: { id: string }) => id)).toEqual(ids.slice(2));
    expect(queued).not.toHaveProperty('total_count');
    const page = (await call('GET', '/deployments?limit=2&offset=1', one.token)).json();
    expect(page).toMatchObject({ limit: 2, offset: 1, has_more: false });
    expect((await call('GET', '/deployments?limit=2&offset=0', one.token)).json()).toMatchObject({ has_more: true });
    expect((await call('GET', '/deployments?offset=99', one.token)).json()).toMatchObject({
      has_more: false,
      data: [],
    });
  });

  it('reads, reports on and downloads only its own deployments', async () => {
    const one = await robot(robotKey('one'));
    const two = await robot(robotKey('two'));
    const deployment = host.platform.deploy(one.id, { '/a.json': '{"a":1}' });
    const instance = deployment.config_instances?.[0]?.id ?? '';
    const path = `/deployments/${deployment.id}`;
    expect((await call('GET', path, one.token)).json()).toMatchObject({ id: deployment.id, status: 'queued' });
    const report = { activity_status: 'deployed', error_status: 'none', deployed_at: '2026-01-01T00:00:00Z' };
    expect((await call('PATCH', path, one.token, report)).json()).toMatchObject({ status: 'deployed' });
    expect((await call('PATCH', path, one.token, { activity_status: 'queued' })).status).toBe(409);
    expect((await call('PATCH', path, one.token, { activity_status: 'gone' })).status).toBe(400);
    expect((await call('GET', path, two.token)).status).toBe(404);
    expect((await call('PATCH', path, two.token, report)).status).toBe(404);
    const content = await call('GET', `/config_instances/${instance}/content?disposition=attachment`, one.token);
    expect(content).toMatchObject({ status: 200, text: '{"a":1}' });
    expect(content.headers).toMatchObject({ 'content-type': 'application/json', 'content-disposition': 'attachment' });
    expect((await call('GET', `/config_instances/${instance}/content`, two.token)).status).toBe(404);
    expect((await call('GET', `/config_instances/${instance}/content?disposition=x`, one.token)).status).toBe(400);
  });
});

describe('a request', () => {
  it.each(['/device', '/version', '/deployments', '/deployments/dpl_1', '/releases/rls_1', '/git_commits/cmt_1'])(
    'to %s needs a device token',
    async (path) => {
      expect((await call('GET', path)).status).toBe(401);
      expect((await call('GET', path, 'a.b.c')).status).toBe(401);
    },
  );

  it.each([undefined, 'v0.3', '2026-08-17.everglades'])('with version %s is refused', async (version) => {
    const { token } = await robot(robotKey('one'));
    const headers = { authorization: `Bearer ${token}`, ...(version !== undefined && { 'service-version': version }) };
    const response = await host.app.inject({ url: '/agent/v1/device', headers });
    expect(response.statusCode).toBe(400);
    expect(response.json().error).toMatchObject({ code: 'unsupported_version', params: { accepted: ['v0.4'] } });
  });

  it('with a body above the size limit is refused', async () => {
    const { status } = await call('POST', '/devices/provision', 'x', { name: 'x'.repeat(100_000) });
    expect(status).toBe(413);
  });
});
