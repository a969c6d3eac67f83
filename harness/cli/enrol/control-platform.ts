/** `--control platform`: Muster runs a platform of its own, has the agent under test enrol, and drives it by real deployments. */
import { HttpClient } from '../../client/http.ts';
import type { Redactor } from '../../client/redact.ts';
import { poll } from '../../common/waiting.ts';
import { DIALECT_NAMES, type Dialect, NEWEST_VERSION } from '../../contract/versions.ts';
import { type Control, ControlError } from '../../targets/control/control.ts';
import { PlatformClient } from '../../targets/control/platform-client.ts';
import { PlatformControl } from '../../targets/control/platform-control.ts';

export interface ControlPlatformOptions {
  redactor: Redactor;
  /** Shows once what an agent that is started by hand needs; the token in it must not be masked. */
  announce(text: string): void;
  dialect?: Dialect;
  port?: number;
  mqttPort?: number;
  tls?: { cert: string; key: string };
  /** The address that the agent gets instead, e.g. that of a proxy that can be cut. */
  relay?(url: string): Promise<string>;
  /** How long the agent may take to enrol. Default 4 minutes, as a token lives for 5. */
  enrolMs?: number;
  signal?: AbortSignal;
}

export interface ControlPlatform extends AsyncDisposable {
  /** For the agent's environment: MUSTER_PLATFORM_URL, MUSTER_MQTT_URL, MUSTER_TOKEN. */
  readonly env: Record<string, string>;
  readonly url: string;
  readonly apiKey: string;
  /** Waits for a device to be online; the platform's id of it. Throws ControlError. */
  enrolled(): Promise<string>;
  /** For `openDeviceTarget`: drives the enrolled device. */
  attach(device: HttpClient): Promise<Control>;
}

const ENROL_MS = 240_000;
const POLL_MS = 100;

export async function startControlPlatform(options: ControlPlatformOptions): Promise<ControlPlatform> {
  const { redactor, dialect = 'spec', relay = async (url) => url } = options;
  const { simulatePlatform } = await import('../../../simulators/platform/index.ts');
  const platform = await simulatePlatform({
    dialect,
    mqtt: options.mqttPort === undefined ? {} : { port: options.mqttPort },
    ...(options.port === undefined ? {} : { port: options.port }),
    ...(options.tls === undefined ? {} : { tls: options.tls }),
  });
  redactor.add(platform.apiKey, 'MUSTER_API_KEY');
  const base = new URL(platform.url);
  const http = new HttpClient({
    endpoint: { origin: base.origin, ...(options.tls === undefined ? {} : { ca: options.tls.cert }) },
    basePath: base.pathname,
    headers: { 'x-api-key': platform.apiKey, [DIALECT_NAMES[dialect].versionHeader.toLowerCase()]: NEWEST_VERSION },
  });
  const client = new PlatformClient(http);
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping ??= http.close().finally(() => platform.stop());
    return stopping;
  };
  const token = await client.provisioningToken().catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  redactor.add(token);
  const env = {
    MUSTER_PLATFORM_URL: await relay(platform.agentUrl),
    ...(platform.mqttUrl === undefined ? {} : { MUSTER_MQTT_URL: await relay(platform.mqttUrl) }),
    MUSTER_TOKEN: token,
  };
  options.announce(
    [
      'waiting for the agent to enrol; start it with this in its environment:',
      ...Object.entries(env).map(([name, value]) => `  ${name}=${value}`),
    ].join('\n'),
  );

  const untilEnrolled = (): Promise<string> => {
    const timeoutMs = options.enrolMs ?? ENROL_MS;
    const timeoutError = (): Error =>
      new ControlError(
        `control: no agent enrolled in Muster's platform within ${Math.round(timeoutMs / 1000)} s; it needs MUSTER_PLATFORM_URL, MUSTER_MQTT_URL and MUSTER_TOKEN from its environment`,
      );
    const look = async () => (await client.online())[0]?.id;
    return poll('an agent to enrol', look, { timeoutMs, firstPauseMs: POLL_MS, signal: options.signal, timeoutError });
  };
  let enrolling: Promise<string> | undefined;
  const enrolled = (): Promise<string> => {
    enrolling ??= untilEnrolled();
    return enrolling;
  };
  return {
    env,
    url: platform.url,
    apiKey: platform.apiKey,
    enrolled,
    attach: async (device) => new PlatformControl({ platform: http, device, deviceId: await enrolled() }),
    [Symbol.asyncDispose]: stop,
  };
}
