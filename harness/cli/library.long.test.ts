import { join } from 'node:path';
import { expect, test } from 'vitest';
import { simulatePlatform } from '../../simulators/platform/index.ts';
import { poll } from '../common/waiting.ts';
import { check, clientSuite, openClient, openPlatform, openSystem, platformSuite, systemSuite } from './library.ts';
import { MAIN } from './testing/muster.ts';

interface Answer {
  token?: string;
  data?: { id: string }[];
}

const VERSION = '2026-08-17.everglades';
const CLIENT = `'${process.execPath}' '${join(import.meta.dirname, '../../simulators/client/main.ts')}'`;

test('openClient refuses options without a target with a stable code', async () => {
  await expect(openClient({})).rejects.toMatchObject({ code: 'MUSTER_USAGE' });
});

test('a client is checked', async () => {
  const report = await check(clientSuite, () => openClient({ command: CLIENT }), { fast: true, sections: ['6.1'] });
  expect([report.api, report.exit_code]).toEqual(['client', 0]);
});

test('a platform that is opened read-only gets nothing but GET, and readOnly refuses any other', async () => {
  await using platform = await simulatePlatform({ devices: 3, mqtt: false });
  const { url, apiKey } = platform;
  const only = ['platform.ping.unknown-device'];
  const report = await check(platformSuite, () => openPlatform({ url, apiKey, readOnly: true }), { only });
  expect(report.checks).toMatchObject([{ reason: 'not run: --read-only sends nothing but GET' }]);
  for (const asked of [{ readOnly: true }, { profile: 'read-only' }])
    await expect(check(platformSuite, () => openPlatform({ url, apiKey }), { only, ...asked })).rejects.toMatchObject({
      code: 'MUSTER_USAGE',
    });
});

test('an agent and its platform are checked together', async () => {
  await using platform = await simulatePlatform();
  const { url, apiKey, agentUrl, mqttUrl = '' } = platform;
  const ask = async (method: 'GET' | 'POST', path: string) => {
    const body = method === 'POST' ? { body: '{}' } : {};
    const headers = { 'x-api-key': apiKey, 'service-version': VERSION, 'content-type': 'application/json' };
    return (await fetch(`${url}${path}`, { method, headers, ...body })).json() as Promise<Answer>;
  };
  const { token = '' } = await ask('POST', '/provisioning_tokens');
  const to = `--uplink agent --platform ${agentUrl} --mqtt ${mqttUrl}`;
  const command = `'${process.execPath}' '${MAIN}' simulate device --socket {socket} --dir {dir} ${to}`;
  const device = { command, env: { ...process.env, MUSTER_TOKEN: token } };
  const deviceId = () =>
    poll('the agent to enrol', async () => (await ask('GET', '/devices')).data?.[0]?.id, { timeoutMs: 60_000 });
  const open = () => openSystem({ device, platform: { url, apiKey }, deviceId });
  const report = await check(systemSuite, open, { only: ['system.ping'] });
  expect([report.api, report.checks[0]?.outcome]).toEqual(['system', 'pass']);
});
