import { afterAll, expect, it } from 'vitest';
import { defined } from '../../../harness/common/defined.ts';
import { provisionRobot } from '../broker/testing/mosquitto.ts';
import { agentHost, robotKey } from './testing/agent-host.ts';

const host = await agentHost();
afterAll(() => host[Symbol.asyncDispose]());
const { token } = await provisionRobot(host, 'robot');

async function statusOf(method: 'POST' | 'PATCH', path: string, bearer: string, payload?: object) {
  const headers = { 'service-version': 'v0.4', authorization: `Bearer ${bearer}` };
  const { statusCode } = await host.app.inject({ method, url: `/agent/v1${path}`, headers, ...defined({ payload }) });
  return statusCode;
}

it.each([
  ['no body', undefined],
  ['a missing name', { public_key_pem: robotKey().publicPem, agent_version: 'v1' }],
  ['a name of 49 characters', { public_key_pem: robotKey().publicPem, agent_version: 'v1', name: 'x'.repeat(49) }],
  ['a key of 1024 bits', { public_key_pem: robotKey('small', 1024).publicPem, agent_version: 'v1', name: 'x' }],
])('provisioning refuses %s, and does not spend the token', async (what, body) => {
  const invitation = host.platform.provisioningToken();
  expect(await statusOf('POST', '/devices/provision', invitation, body)).toBe(400);
  const good = { public_key_pem: robotKey('third').publicPem, agent_version: 'v1', name: `after ${what}` };
  expect(await statusOf('POST', '/devices/provision', invitation, good)).toBe(200);
});

it.each([undefined, 'v0.3', '2026-08-17.everglades'])('a request with version %s is refused', async (version) => {
  const headers = { authorization: `Bearer ${token}`, ...(version !== undefined && { 'service-version': version }) };
  const response = await host.app.inject({ url: '/agent/v1/device', headers });
  expect(response.statusCode).toBe(400);
  expect(response.json().error).toMatchObject({ code: 'unsupported_version', params: { accepted: ['v0.4'] } });
});

it('an unknown status and a body above the size limit are refused', async () => {
  expect(await statusOf('PATCH', '/deployments/dpl_1', token, { activity_status: 'gone' })).toBe(400);
  expect(await statusOf('POST', '/devices/provision', 'x', { name: 'x'.repeat(100_000) })).toBe(413);
});
