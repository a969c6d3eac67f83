import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startPlatform } from '../../simulators/platform/testing/kit.ts';
import { poll } from '../common/waiting.ts';
import { check, clientSuite, openClient, openPlatform, openSystem, platformSuite, systemSuite } from './library.ts';
import { MAIN } from './testing/muster.ts';

const CLIENT = `'${process.execPath}' '${join(import.meta.dirname, '../../simulators/client/main.ts')}'`;

test('openClient refuses options without a target with a stable code', async () => {
  await expect(openClient({})).rejects.toMatchObject({ code: 'MUSTER_USAGE' });
});

test('a client is checked', async () => {
  const report = await check(clientSuite, () => openClient({ command: CLIENT }), { fast: true, sections: ['6.1'] });
  expect([report.api, report.exit_code]).toEqual(['client', 0]);
});

test('a platform that is opened read-only gets nothing but GET, and readOnly refuses any other', async () => {
  await using platform = await startPlatform({ devices: 3 });
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
  await using platform = await startPlatform({ mqtt: {} });
  const { url, apiKey, agentUrl, mqttUrl = '' } = platform;
  const to = `--uplink agent --platform ${agentUrl} --mqtt ${mqttUrl}`;
  const command = `'${process.execPath}' '${MAIN}' simulate device --socket {socket} --dir {dir} ${to}`;
  const device = { command, env: { ...process.env, MUSTER_TOKEN: await platform.provisioningToken() } };
  const enrolled = async () => (await platform.items('/devices'))[0]?.id;
  const deviceId = () => poll('the agent to enrol', enrolled, { timeoutMs: 60_000 });
  const open = () => openSystem({ device, platform: { url, apiKey }, deviceId });
  const report = await check(systemSuite, open, { only: ['system.ping'] });
  expect([report.api, report.checks[0]?.outcome]).toEqual(['system', 'pass']);
});
