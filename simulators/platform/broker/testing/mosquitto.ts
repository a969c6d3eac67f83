import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import mqtt, { type IClientOptions } from 'mqtt';
import { closedPort } from '../../../../harness/common/testing/servers.ts';
import { poll } from '../../../../harness/common/waiting.ts';
import { type AgentHost, deviceJwt, robotKey } from '../../agent/testing/agent-host.ts';

const places = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin', '/opt/homebrew/sbin'];

export const mosquittoPath = places.map((place) => join(place, 'mosquitto')).find((path) => existsSync(path));

export async function runMosquitto(path: string) {
  const directory = await mkdtemp(join(tmpdir(), 'muster-mosquitto-'));
  const port = await closedPort();
  const file = join(directory, 'mosquitto.conf');
  await writeFile(file, `listener ${port} 127.0.0.1\nallow_anonymous true\npersistence false\nlog_dest none\n`);
  let child: ChildProcess | undefined;
  const start = async () => {
    child = spawn(path, ['-c', file], { stdio: 'ignore' });
    await listening(port, child);
  };
  /** Ends the broker by SIGKILL, as in a crash. */
  const stop = async () => {
    if (!child || child.exitCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  await start();
  return {
    url: `mqtt://127.0.0.1:${port}`,
    start,
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function listening(port: number, child: ChildProcess): Promise<void> {
  const connects = async () => {
    if (child.exitCode !== null) throw new Error(`mosquitto ended with code ${child.exitCode}`);
    const socket = connect(port, '127.0.0.1');
    const reached = once(socket, 'connect').then(() => true);
    return await reached.catch(() => undefined).finally(() => socket.destroy());
  };
  await poll(`mosquitto to listen on port ${port}`, connects, {
    timeoutMs: Number.POSITIVE_INFINITY,
    firstPauseMs: 10,
  });
}

export type Robot = Awaited<ReturnType<typeof provisionRobot>>;

export async function provisionRobot(host: AgentHost, name: string) {
  const { platform, app } = host;
  const key = robotKey(name);
  const device = platform.enrolled(name, { public_key_pem: key.publicPem, fingerprint: key.fingerprint });
  const answer = await app.inject({
    method: 'POST',
    url: '/agent/v1/devices/token',
    headers: { 'service-version': 'v0.4', authorization: `Bearer ${deviceJwt(key, Date.now())}` },
  });
  const { token } = answer.json<{ token: string }>();
  const credentials: IClientOptions = { clientId: device.id, username: device.session_id ?? '', password: token };
  return { device, token, credentials };
}

export type TestClient = Awaited<ReturnType<typeof connectClient>>;

export async function connectClient(url: string, options: IClientOptions) {
  const client = await mqtt.connectAsync(url, { protocolVersion: 4, reconnectPeriod: 0, ...options }, false);
  const received: { topic: string; text: string; retain: boolean }[] = [];
  client.on('message', (topic, payload, { retain }) => received.push({ topic, text: payload.toString(), retain }));
  client.on('error', () => {});
  return { mqtt: client, received, [Symbol.asyncDispose]: () => client.endAsync(true) };
}
