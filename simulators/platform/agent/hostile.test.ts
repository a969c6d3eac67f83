import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { anyCharacter } from '../../common/testing/scratch.ts';
import { provisionRobot } from '../broker/testing/mosquitto.ts';
import { agentHost, robotKey } from './testing/agent-host.ts';

const host = await agentHost();
afterAll(() => host[Symbol.asyncDispose]());
const { device, token } = await provisionRobot(host, 'robot');
const { id: deploymentId } = host.platform.deploy(device.id, { '/a': '1' });

const HOSTILE = "|..|%2e%2e|%00|%|%ff|__proto__|constructor|' OR 1=1 --|😀|\u2028".split('|');
const text = fc.oneof(fc.constantFrom(...HOSTILE, 'x'.repeat(5000)), fc.string(), fc.string({ unit: anyCharacter }));
const segment = fc.oneof(
  fc.constantFrom('devices', 'device', 'deployments', 'config_instances', 'content', 'token', 'provision', 'releases'),
  text.map((value) => (value.isWellFormed() ? encodeURIComponent(value) : '%ED%A0%80')),
);
const path = fc.array(segment, { maxLength: 4 }).map((segments) => `/${segments.join('/')}`);
const known = 'devices/provision devices/reprovision devices/token deployments device version'.split(' ');
const knownPath = fc.constantFrom(...known.map((each) => `/${each}`));
const query = fc.dictionary(
  fc.constantFrom('limit', 'offset', 'expand', 'expand[]', 'activity_status', 'disposition', '__proto__'),
  fc.oneof(text, fc.array(text, { maxLength: 3 })),
);
const json = fc.oneof(
  fc.json(),
  fc
    .record(
      {
        public_key_pem: fc.oneof(text, fc.constant(robotKey().publicPem)),
        agent_version: fc.oneof(text, fc.integer()),
        name: fc.oneof(text, fc.constant(null)),
        activity_status: fc.oneof(text, fc.constantFrom('queued', 'archived')),
        error_status: text,
        deployed_at: text,
      },
      { requiredKeys: [] },
    )
    .map((value) => JSON.stringify(value)),
);
const body = fc.oneof(
  json.map((value) => Buffer.from(value)),
  fc.uint8Array().map((bytes) => Buffer.from(bytes)),
);
const media = fc.constantFrom('application/json', 'text/plain', 'application/x-www-form-urlencoded', 'x', undefined);
const authorization = fc.oneof(
  fc.constantFrom('', 'Bearer', 'Bearer ', 'Basic eDp5', 'Bearer a.b.c', 'VALID', 'VALID'),
  fc.string({ unit: 'grapheme-ascii' }).map((value) => `Bearer ${value.trim()}`),
);

it('a hostile request is answered 4xx without a valid token, and never 5xx', async () => {
  const request = fc.record({
    method: fc.constantFrom('GET' as const, 'POST' as const, 'PATCH' as const, 'PUT' as const, 'DELETE' as const),
    path: fc.oneof(path, knownPath, fc.constant(`/deployments/${deploymentId}`)),
    query,
    body,
    contentType: media,
    authorization,
  });
  await fc.assert(
    fc.asyncProperty(
      request,
      async ({ method, path: at, query: parameters, body: payload, contentType: type, ...rest }) => {
        const search = new URLSearchParams(
          Object.entries(parameters).flatMap(([name, value]) => [value].flat().map((each) => [name, each])),
        );
        const response = await host.app.inject({
          method,
          url: `/agent/v1${at}?${search}`,
          headers: {
            'service-version': 'v0.4',
            authorization: rest.authorization === 'VALID' ? `Bearer ${token}` : rest.authorization,
            ...(type !== undefined && { 'content-type': type }),
          },
          ...(method !== 'GET' && { payload }),
        });
        expect(response.statusCode).toBeLessThan(500);
        if (rest.authorization !== 'VALID') expect(response.statusCode).toBeGreaterThanOrEqual(400);
      },
    ),
    { numRuns: 600 },
  );
  const headers = { 'service-version': 'v0.4', authorization: `Bearer ${token}` };
  const alive = await host.app.inject({ url: '/agent/v1/device', headers });
  expect(alive.statusCode).toBe(200);
});
