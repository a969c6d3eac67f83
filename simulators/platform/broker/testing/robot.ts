/** A provisioned device, and an MQTT client for it. For tests only. */
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';
import type { AgentHost } from '../../agent/testing/agent-host.ts';
import { deviceJwt, robotKey } from '../../agent/testing/robot-keys.ts';
import type { AgentDeviceRecord } from '../../ports.ts';

export interface Robot {
  device: AgentDeviceRecord;
  token: string;
  /** Options that the broker accepts. */
  credentials: IClientOptions;
}

export async function provisionRobot(host: AgentHost, name: string): Promise<Robot> {
  const { platform, app } = host;
  const key = robotKey(name);
  const device = platform.provision(platform.provisioningToken(), {
    name,
    agent_version: 'v1',
    public_key_pem: key.publicPem,
    fingerprint: key.fingerprint,
  });
  const answer = await app.inject({
    method: 'POST',
    url: '/agent/v1/devices/token',
    headers: { 'service-version': 'v0.4', authorization: `Bearer ${deviceJwt(key, Date.now())}` },
  });
  const { token } = answer.json<{ token: string }>();
  return { device, token, credentials: { clientId: device.id, username: device.session_id, password: token } };
}

export interface Received {
  topic: string;
  text: string;
  retain: boolean;
}

export interface TestClient extends AsyncDisposable {
  mqtt: MqttClient;
  received: Received[];
}

/** Rejects with the broker's refusal. Never reconnects by itself. */
export async function connectClient(url: string, options: IClientOptions): Promise<TestClient> {
  const client = await mqtt.connectAsync(url, { protocolVersion: 4, reconnectPeriod: 0, ...options }, false);
  const received: Received[] = [];
  client.on('message', (topic, payload, { retain }) => received.push({ topic, text: payload.toString(), retain }));
  client.on('error', () => {});
  return { mqtt: client, received, [Symbol.asyncDispose]: () => client.endAsync(true) };
}
