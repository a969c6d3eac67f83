/** `--control platform`: Muster runs a platform of its own, has the agent under test enrol, and drives it by real deployments. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HttpClient } from '../../client/http.ts';
import type { Redactor } from '../../client/redact.ts';
import { defined } from '../../common/defined.ts';
import { UsageError } from '../../common/usage.ts';
import { poll } from '../../common/waiting.ts';
import { DIALECT_NAMES, NEWEST_VERSION } from '../../contract/versions.ts';
import { type Control, ControlError } from '../../targets/control/control.ts';
import { PlatformClient } from '../../targets/control/platform-client.ts';
import { PlatformControl } from '../../targets/control/platform-control.ts';
import { type Authority, makeAuthority } from './authority.ts';
import type { OwnPlatform } from './platform-options.ts';

export interface ControlPlatformOptions extends OwnPlatform {
  redactor: Redactor;
  /** Shows once what an agent that is started by hand needs; the token in it must not be masked. */
  announce(text: string): void;
  /** The address that the agent gets instead, e.g. that of a proxy that can be cut; on that port where one is asked for. */
  relay?(url: string, port: number | undefined): Promise<string>;
  /** How long the agent may take to enrol. Default 4 minutes, as a token lives for 5. */
  enrolMs?: number;
  signal?: AbortSignal;
}

export interface ControlPlatform extends AsyncDisposable {
  /** For the agent's environment: MUSTER_PLATFORM_URL, MUSTER_MQTT_URL, MUSTER_TOKEN; with TLS also MUSTER_CA_FILE. */
  readonly env: Record<string, string>;
  /** For the agent's command: with TLS the file of the authority as `{ca}`. */
  readonly placeholders: Readonly<Record<string, string>>;
  /** Certificate of the authority (PEM); undefined without TLS. */
  readonly caFile: string | undefined;
  readonly url: string;
  readonly apiKey: string;
  /** Waits for a device to be online; the platform's id of it. Throws ControlError. */
  enrolled(): Promise<string>;
  /** For `openDeviceTarget`: drives the enrolled device. */
  attach(device: HttpClient): Promise<Control>;
}

const ENROL_MS = 240_000;
const POLL_MS = 100;
const WARM_UP_MS = 20_000;
/** Some checks compare two retained events. */
const FIRST_EVENTS = 3;

export async function startControlPlatform(options: ControlPlatformOptions): Promise<ControlPlatform> {
  const { redactor, dialect = 'spec', relay } = options;
  const { simulatePlatform } = await import('../../../simulators/platform/index.ts');
  const made = options.tls === true ? authorityInFolder() : undefined;
  // A relay has the port that the agent is to find.
  const [port, mqttPort] = relay === undefined ? [options.port, options.mqttPort] : [];
  const platform = await simulatePlatform({
    dialect,
    mqtt: mqttPort === undefined ? {} : { port: mqttPort },
    ...defined({ port }),
    ...(made === undefined ? {} : { tls: made.authority }),
  }).catch((error: unknown) => {
    made?.remove();
    throw notListening(error);
  });
  redactor.add(platform.apiKey, 'MUSTER_API_KEY');
  const base = new URL(platform.url);
  const http = new HttpClient({
    endpoint: { origin: base.origin, ...(made === undefined ? {} : { ca: made.authority.ca }) },
    basePath: base.pathname,
    headers: { 'x-api-key': platform.apiKey, [DIALECT_NAMES[dialect].versionHeader.toLowerCase()]: NEWEST_VERSION },
  });
  const client = new PlatformClient(http);
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping ??= http
      .close()
      .finally(() => platform.stop())
      .finally(() => made?.remove());
    return stopping;
  };
  const env = await environment(platform, client, made?.file, options).catch(async (error: unknown) => {
    await stop();
    throw notListening(error);
  });
  options.announce(
    [
      'waiting for the agent to enrol; start it with this in its environment:',
      ...Object.entries(env).map(([name, value]) => `  ${name}=${value}`),
    ].join('\n'),
  );

  const enrolled = enrolment(client, options);
  return {
    env,
    placeholders: made === undefined ? {} : { ca: made.file },
    caFile: made?.file,
    url: platform.url,
    apiKey: platform.apiKey,
    enrolled,
    attach: async (device) => {
      const control = new PlatformControl({
        platform: http,
        device,
        deviceId: await enrolled(),
        syncPath: options.syncPath,
      });
      await warmUp(control);
      return control;
    },
    [Symbol.asyncDispose]: stop,
  };
}

/** What has just been enrolled has neither a deployment nor an event. Whatever is wrong with its first ones, checks will find. */
async function warmUp(control: Control): Promise<void> {
  await control
    .bound(AbortSignal.timeout(WARM_UP_MS))
    .publish(FIRST_EVENTS)
    .catch((error: unknown) => {
      if (!(error instanceof ControlError || error instanceof DOMException)) throw error;
    });
}

/** What an agent needs to enrol. Throws ControlError, or what a relay throws. */
async function environment(
  { agentUrl, mqttUrl }: { agentUrl: string; mqttUrl: string | undefined },
  client: PlatformClient,
  caFile: string | undefined,
  { relay, port, mqttPort, redactor }: ControlPlatformOptions,
): Promise<Record<string, string>> {
  const shown = async (url: string, at: number | undefined): Promise<string> => (await relay?.(url, at)) ?? url;
  const token = await client.provisioningToken();
  redactor.add(token);
  return {
    MUSTER_PLATFORM_URL: await shown(agentUrl, port),
    ...(mqttUrl === undefined ? {} : { MUSTER_MQTT_URL: await shown(mqttUrl, mqttPort) }),
    MUSTER_TOKEN: token,
    ...defined({ MUSTER_CA_FILE: caFile }),
  };
}

/** Waits for a device to be online, once for all callers. */
function enrolment(client: PlatformClient, { enrolMs, signal }: ControlPlatformOptions): () => Promise<string> {
  const timeoutMs = enrolMs ?? ENROL_MS;
  const timeoutError = (): Error =>
    new ControlError(
      `control: no agent enrolled in Muster's platform within ${Math.round(timeoutMs / 1000)} s; it needs MUSTER_PLATFORM_URL, MUSTER_MQTT_URL and MUSTER_TOKEN from its environment`,
    );
  const look = async () => (await client.online())[0]?.id;
  let enrolling: Promise<string> | undefined;
  return () => {
    enrolling ??= poll('an agent to enrol', look, { timeoutMs, firstPauseMs: POLL_MS, signal, timeoutError });
    return enrolling;
  };
}

/** An authority with its certificate in a private folder, where an agent can read it. */
function authorityInFolder(): { authority: Authority; file: string; remove(): void } {
  const authority = makeAuthority();
  const folder = mkdtempSync(join(tmpdir(), 'muster-ca-'));
  const file = join(folder, 'ca.pem');
  writeFileSync(file, authority.ca);
  return { authority, file, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A port that is taken, or may not be opened, is a matter of the options. */
function notListening(error: unknown): unknown {
  const { code, port } = (error ?? {}) as { code?: unknown; port?: unknown };
  if (code !== 'EADDRINUSE' && code !== 'EACCES') return error;
  const why = code === 'EACCES' ? 'this user may not open it' : 'something else already listens there';
  return new UsageError(`Muster's platform cannot listen on port ${String(port)}: ${why}`, { cause: error });
}
