/** Watches the traffic of the published agent, and prints the findings as one line of JSON. For tests. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { Agent, setGlobalDispatcher } from 'undici';
import { scratch } from '../../../../simulators/common/testing/scratch.ts';
import { createKit, deploymentBody, deploymentOf, startPlatform } from '../../../../simulators/platform/testing/kit.ts';
import { poll } from '../../../common/waiting.ts';
import { ask, Running, reportIn } from '../../testing/muster.ts';
import { called } from '../../testing/watched.ts';
import { makeAuthority } from '../authority.ts';

const AGENT = process.env['MIRU_AGENT'] ?? 'miru-agent';
const SOCKET = '/run/miru/miru.sock';
const MQTT_PORT = 8883;
const DEPLOYMENTS = 3;
const LONGEST_MS = 120_000;

using home = scratch();
const at = (name: string): string => join(home.path, name);
const authority = makeAuthority();
for (const name of ['ca', 'cert', 'key'] as const) writeFileSync(at(name), authority[name]);
setGlobalDispatcher(new Agent({ connect: { ca: authority.ca } }));
await using platform = await startPlatform({ dialect: 'miru', tls: authority, mqtt: { port: MQTT_PORT } });

const start = (...words: string[]): Running =>
  new Running(['watch', ...words, '--report', `json=${at(words[0] ?? '')}`]);
const tls = ['--ca', at('ca'), '--tls-cert', at('cert'), '--tls-key', at('key')];
await using calls = start('platform', '--url', platform.url, '--listen', 'localhost:0', ...tls);
const { url } = await calls.ready();
// Sends the agent to the relay, which also serves the path of the API for agents.
const backend = new URL(platform.agentUrl);
backend.port = new URL(String(url)).port;

const env = { ...process.env, SSL_CERT_FILE: at('ca'), MIRU_PROVISIONING_TOKEN: await platform.provisioningToken() };
const place = [`--backend-host=${String(backend).replace(/\/$/, '')}`, '--mqtt-broker-host=localhost'];
for (const folder of ['/run/miru', '/var/lib/miru']) mkdirSync(folder, { recursive: true });
const provision = ['provision', ...place, '--device-name=muster'];
const [code] = await once(spawn(AGENT, provision, { env, stdio: ['ignore', 2, 2] }), 'close');
if (code !== 0) throw new Error(`it ended with ${code}`);
const agent = spawn(AGENT, [], { env, stdio: ['ignore', 2, 2] });
const over = new AbortController();
try {
  await poll('the agent to serve', () => existsSync(SOCKET) || undefined, { timeoutMs: LONGEST_MS });
  await using streams = start('device', '--socket', SOCKET, '--listen', at('w.sock'));
  await streams.ready();
  const values = { socket: at('w.sock'), deviceUrl: 'http://localhost/v0.2' };
  const following = called({ job: 'follow', ...values }, undefined, over.signal);
  const [device] = await platform.items('/devices');
  const kit = await createKit(platform, '/srv/robot/speed.json');
  for (let round = 0; round < DEPLOYMENTS; round += 1) {
    const { id } = await platform.create('/deployments', deploymentBody(kit, String(device?.id), 'deployed'));
    const isDeployed = async (): Promise<true | undefined> =>
      (await deploymentOf(platform, id))['activity_status'] === 'deployed' || undefined;
    await poll('the deployment', isDeployed, { timeoutMs: LONGEST_MS });
    await ask(at('w.sock'), '/v0.2/deployments/current');
  }
  over.abort();
  await following;
  for (const { child } of [streams, calls]) child.kill('SIGTERM');
  await Promise.all([streams.ended, calls.ended]);
} finally {
  agent.kill('SIGTERM');
}

const told = ['device', 'platform'].map((api) => {
  const { checks, watched } = reportIn(at(api));
  const found = checks.filter(({ outcome }) => outcome === 'fail' || outcome === 'warn');
  return [api, { watched, found: found.map(({ id, expected, actual }) => ({ id, expected, actual })) }];
});
process.stdout.write(`${JSON.stringify(Object.fromEntries(told))}\n`);
