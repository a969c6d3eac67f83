/** Starts Muster's platform, where the agent under test enrols and receives deployments. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import type { HttpClient } from '../../client/http.ts';
import { defined } from '../../common/defined.ts';
import { ownedFolder } from '../../common/owner.ts';
import type { Redactor } from '../../common/redact.ts';
import { UsageError } from '../../common/usage.ts';
import { poll, pollWithin } from '../../common/waiting.ts';
import type { TargetDescription } from '../../runner/types.ts';
import { type Control, ControlError } from '../../targets/control/control.ts';
import { TcpProxy } from '../../targets/control/controlled-agent.ts';
import { PlatformClient, PlatformControl } from '../../targets/control/platform-control.ts';
import type { DeviceTargetOptions } from '../../targets/fields.ts';
import { openDeviceTarget } from '../../targets/open-device.ts';
import { openPlatformTarget } from '../../targets/open-platform.ts';
import { openSystemTarget } from '../../targets/open-system.ts';
import type { OpenDeviceTarget, OpenedTarget, SystemContext } from '../../targets/opened.ts';
import {
  deviceTarget,
  type Opening,
  type OwnPlatform,
  type OwnPlatformArguments,
  ownPlatform,
  refuseOwnPlatform,
  type systemTargetOptions,
} from '../check-options.ts';
import type { OptionsOf } from '../options.ts';
import { platformHttp } from '../records.ts';
import { type Authority, makeAuthority } from './authority.ts';

export interface ControlPlatformOptions extends OwnPlatform {
  redactor: Redactor;
  /** Tells the user how to start the agent, with the unmasked provisioning token. */
  announce(text: string): void;
  /** Starts a proxy for `url` on `port`, so that Muster can cut connections. Resolves with the address of the proxy. */
  relay?(url: string, port: number | undefined): Promise<string>;
  /** Called once, when the wait for enrolment begins. */
  onWait?(text: string): void;
  /** Milliseconds to wait for enrolment. Default: 4 minutes, because a provisioning token is valid for 5 minutes. */
  enrolMs?: number;
  signal?: AbortSignal;
}

export type ControlPlatform = Awaited<ReturnType<typeof startControlPlatform>>;

const POLL_MS = 100;
const VARIABLES = 'MUSTER_PLATFORM_URL, MUSTER_MQTT_URL and MUSTER_TOKEN';

export async function startControlPlatform(options: ControlPlatformOptions) {
  const { redactor, dialect = 'spec', relay } = options;
  const { simulatePlatform } = await import('../../../simulators/platform/index.ts');
  await using stack = new AsyncDisposableStack();
  const made = options.tls === true ? stack.use(authorityInFolder()) : undefined;
  const [port, mqttPort] = relay === undefined ? [options.port, options.mqttPort] : [];
  const platform = await simulatePlatform({
    dialect,
    mqtt: mqttPort === undefined ? {} : { port: mqttPort },
    ...defined({ port, tls: made?.authority }),
  }).catch(notListening);
  stack.use(platform);
  redactor.add(platform.apiKey, 'MUSTER_API_KEY');
  const http = platformHttp({ url: platform.url, apiKey: platform.apiKey, dialect, ca: made?.authority.ca });
  stack.defer(() => http.close());
  const client = new PlatformClient(http);
  const env = await environment(platform, client, made?.file, options).catch(notListening);
  options.announce(
    [
      'waiting for the agent to enrol; start it with this in its environment:',
      ...Object.entries(env).map(([name, value]) => `  ${name}=${value}`),
    ].join('\n'),
  );

  const enrolled = enrolment(client, options);
  const started = stack.move();
  return {
    env,
    placeholders: defined({ ca: made?.file }),
    caFile: made?.file,
    url: platform.url,
    apiKey: platform.apiKey,
    enrolled,
    attach: async (device: HttpClient): Promise<Control> => {
      const control = new PlatformControl({
        platform: http,
        device,
        deviceId: await enrolled(),
        syncPath: options.syncPath,
      });
      // Gives the device a deployment and events, which some checks compare; later checks report one that fails here.
      await control.publish(3, AbortSignal.timeout(20_000)).catch((error: unknown) => {
        if (!(error instanceof ControlError || error instanceof DOMException)) throw error;
      });
      return control;
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

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

function enrolment(client: PlatformClient, { enrolMs, signal, onWait }: ControlPlatformOptions): () => Promise<string> {
  const timeoutMs = enrolMs ?? 240_000;
  const timeoutError = (): Error =>
    new ControlError(
      `control: no agent enrolled in Muster's platform within ${Math.round(timeoutMs / 1000)} s; it needs ` +
        `${VARIABLES} from its environment`,
    );
  const look = async () => (await client.online())[0]?.id;
  let enrolling: Promise<string> | undefined;
  return () => {
    if (enrolling === undefined) onWait?.(`waiting for it to enrol, with ${VARIABLES}`);
    enrolling ??= poll('an agent to enrol', look, { timeoutMs, firstPauseMs: POLL_MS, signal, timeoutError });
    return enrolling;
  };
}

function authorityInFolder(): Disposable & { authority: Authority; file: string } {
  const authority = makeAuthority();
  const folder = ownedFolder('ca');
  const file = join(folder, 'ca.pem');
  writeFileSync(file, authority.ca);
  return { authority, file, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

function notListening(error: unknown): never {
  const { code, port } = (error ?? {}) as { code?: unknown; port?: unknown };
  if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error;
  const why = code === 'EACCES' ? 'this user may not open it' : 'something else already listens there';
  throw new UsageError(`Muster's platform cannot listen on port ${String(port)}: ${why}`, { cause: error });
}

async function agentSettings({ command, image, target }: DeviceTargetOptions, redactor: Redactor) {
  const { loadTargetFile } = await import('../../targets/settings.ts');
  const file = target === undefined ? undefined : loadTargetFile(target, process.env, redactor).file;
  if (command === undefined && (image ?? file?.device?.image) !== undefined)
    throw new UsageError(
      "--image: a container cannot reach Muster's own platform, which listens on loopback. Start it yourself: " +
        "--command 'docker run --rm --network host " +
        "--env MUSTER_PLATFORM_URL --env MUSTER_MQTT_URL --env MUSTER_TOKEN …'",
    );
  return { started: (command ?? file?.device?.command) !== undefined, file };
}

/**
 * Announces the variables only to a user who starts the agent; an agent that Muster starts gets them from Muster, and
 * enrols within a minute of serving.
 */
const waitOptions = (started: boolean, { notify }: DeviceTargetOptions) =>
  started
    ? { announce: () => {}, enrolMs: 60_000, ...defined({ onWait: notify }) }
    : { announce: (text: string) => void process.stderr.write(`${text}\n`) };

/** Resolves with the reason if no agent enrols in time. */
const troubleOf = (platform: ControlPlatform): Promise<string | undefined> =>
  platform.enrolled().then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof ControlError) return error.message;
      throw error;
    },
  );

async function openAgent(platform: ControlPlatform, target: DeviceTargetOptions, started: boolean) {
  const missing = started ? undefined : await troubleOf(platform);
  let opened = await openDeviceTarget(target);
  const served = async (): Promise<true | undefined> => {
    if (started || opened.unreachable === undefined || missing !== undefined) return true;
    await opened.close();
    opened = await openDeviceTarget(target);
    return opened.unreachable === undefined || undefined;
  };
  try {
    // An agent may enrol before it serves its Device API.
    await pollWithin('the agent to serve', served, {
      timeoutMs: 10_000,
      firstPauseMs: POLL_MS,
      signal: target.signal,
    });
    return { ...opened, unreachable: missing ?? opened.unreachable ?? (await troubleOf(platform)) };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

export async function openEnrolledDevice(
  target: DeviceTargetOptions,
  options: Omit<ControlPlatformOptions, 'announce'> & Partial<Pick<ControlPlatformOptions, 'announce'>>,
  own: OwnPlatformArguments = { 'platform-tls': false },
): Promise<OpenDeviceTarget> {
  const { started, file } = await agentSettings(target, options.redactor);
  // Closes the agent before its platform, so that the agent sees no lost connection.
  await using stack = new AsyncDisposableStack();
  const platform = stack.use(
    await startControlPlatform({
      ...ownPlatform(own, file),
      ...waitOptions(started, target),
      ...options,
    }),
  );
  const { control: _, ...rest } = target;
  const env = { ...(target.env ?? process.env), ...platform.env };
  const agent = { ...rest, env, placeholders: platform.placeholders, attach: platform.attach };
  const opened = stack.use(await openAgent(platform, agent, started));
  const both = stack.move();
  const close = (): Promise<void> => both.disposeAsync();
  return { ...opened, close, [Symbol.asyncDispose]: close };
}

export async function openSystem(
  args: OptionsOf<typeof systemTargetOptions>,
  { readOnly, enrolMs, ...opening }: Opening & { readOnly: boolean; enrolMs?: number },
): Promise<OpenedTarget<SystemContext>> {
  const { redactor, signal, patienceMs, userAgent } = opening;
  const { control, ...uncontrolled } = args;
  if (control === 'platform' && args.platform !== undefined)
    throw new UsageError("--control platform: that is Muster's own; leave out --platform");
  // Ignores `--control platform`, because Muster's platform controls the agent by default.
  const target = deviceTarget(control === 'platform' ? uncontrolled : args, opening);
  const { started, file } =
    args.platform === undefined ? await agentSettings(target, redactor) : { started: true, file: undefined };
  if (args.platform !== undefined) refuseOwnPlatform(args, 'leave out --platform', ['dialect']);
  const described = ownPlatform(args, file);
  const dialect = described.dialect ?? 'spec';
  await using stack = new AsyncDisposableStack();
  const links: TcpProxy[] = [];
  const relay = async (url: string, port: number | undefined): Promise<string> => {
    const link = stack.use(await TcpProxy.to(url, port));
    links.push(link);
    return link.url;
  };
  const waits = { ...waitOptions(started, target), ...defined({ enrolMs }) };
  const own =
    args.platform === undefined
      ? stack.use(await startControlPlatform({ ...described, redactor, signal, relay, ...waits }))
      : undefined;
  const agent = { ...target, env: { ...process.env, ...own?.env }, ...defined({ placeholders: own?.placeholders }) };
  const device = stack.use(own === undefined ? await openDeviceTarget(target) : await openAgent(own, agent, started));
  const deviceId = device.unreachable === undefined ? (args['device-id'] ?? (await own?.enrolled())) : undefined;
  if (deviceId === undefined && device.unreachable === undefined)
    throw new UsageError('--device-id: missing; with --platform, which of its devices is this agent?');
  const apiKey = own?.apiKey ?? args['api-key'];
  const platform = stack.use(
    await openPlatformTarget({
      url: own?.url ?? args.platform ?? '',
      ...defined({ ca: own?.caFile ?? target.ca, apiKey, apiVersion: args['api-version'], onlineDevice: deviceId }),
      dialect,
      readOnly,
      redactor,
      signal,
      patienceMs,
      userAgent,
    }),
  );
  const named = platformNamed(args);
  const all = stack.move();
  return openSystemTarget({
    device,
    platform,
    deviceId,
    ...(own === undefined ? { links: undefined } : { links, platformName: "Muster's own platform" }),
    ...defined({ named }),
    close: () => all.disposeAsync(),
  });
}

function platformNamed(args: OptionsOf<typeof systemTargetOptions>): TargetDescription['platform'] {
  const { 'platform-name': name, 'platform-version': version } = args;
  if (name !== undefined) return { name, ...defined({ version }) };
  if (version !== undefined) throw new UsageError('--platform-version: give --platform-name, too');
  return undefined;
}
