/** From options to a Device API that can be checked. */
import { isAbsolute } from 'node:path';
import { Unreachable } from '../client/errors.ts';
import { HttpClient } from '../client/http.ts';
import { Recorder } from '../client/recorder.ts';
import { UsageError } from '../common/usage-error.ts';
import type { ControlInfo } from '../contract/control.ts';
import { DEVICE_API_PREFIX } from '../contract/versions.ts';
import type { Capability, TargetDescription } from '../runner/types.ts';
import { declared, isCapability } from './capability.ts';
import type { DeviceTransport } from './contexts.ts';
import { CommandControl } from './control/command-control.ts';
import { type Control, ControlError, HttpControl } from './control/control.ts';
import { noControl } from './control/no-control.ts';
import { RestartControl } from './control/restart-control.ts';
import { startCommand } from './launch/command.ts';
import { fillPlaces } from './launch/command-placeholders.ts';
import { digestOf } from './launch/digest.ts';
import { startDeviceImage } from './launch/image.ts';
import type { Started } from './launch/started.ts';
import { type OpenDeviceTarget, opening } from './opened.ts';
import { type DeviceTargetOptions, PATIENCE_MS } from './options.ts';
import { type LoadedTarget, loadTargetFile } from './target-file.ts';
import { hintFor, whyUnreachable } from './transports/reach.ts';
import { type DeviceAddress, deviceClient, readCa, transportOf } from './transports/transport.ts';

const HEARTBEAT_SECONDS = 30;
const START_MS = 60_000;

/** Throws UsageError for options that make no target; everything else that goes wrong is told in `unreachable`. */
export async function openDeviceTarget(options: DeviceTargetOptions): Promise<OpenDeviceTarget> {
  const { redactor } = options;
  const env = options.env ?? process.env;
  const loaded = options.target === undefined ? undefined : loadTargetFile(options.target, env, redactor);
  const device = loaded?.file.device ?? {};
  const named: DeviceAddress = oneAddress(options) ?? { ...pick(device, ['socket', 'discovery', 'url']) };
  const token = options.token ?? device.token;
  const caFile = options.ca ?? device.ca;
  const ca = readCa(caFile);
  redactor.add(token, 'MUSTER_TOKEN');
  const filled = fillPlaces(options.command ?? device.command ?? '');
  const command = filled?.command ?? options.command ?? device.command;
  const address = Object.keys(named).length > 0 ? named : (filled?.address ?? {});
  const image = options.image ?? device.image;
  // With an image, a path leads to a place inside the container.
  const inside = image !== undefined && options.control !== undefined && isAbsolute(options.control);
  const controlAddress = inside ? undefined : (options.control ?? loaded?.file.control?.http ?? filled?.control);
  if (command !== undefined && image !== undefined) throw new UsageError('--command and --image: give one of them');
  if (command === undefined && image === undefined && Object.keys(address).length === 0) {
    throw new UsageError(
      'which device? Give one of --socket PATH, --discovery FILE, --url URL, --image IMAGE, --command LINE or --target FILE',
    );
  }
  const capabilities = new Set(declared(options.capability, 'device'));
  for (const name of loaded?.file.capabilities ?? []) capabilities.add(name as Capability);

  const common = {
    env,
    timeoutMs: options.startMs ?? (device.start_seconds === undefined ? START_MS : device.start_seconds * 1000),
    notify: options.notify ?? (() => {}),
    signal: options.signal,
  };
  return opening(async (closers, close): Promise<OpenDeviceTarget> => {
    if (filled !== undefined) closers.push(async () => filled.forget());
    let started: Started | undefined;
    let trouble: string | undefined;
    try {
      if (command !== undefined) {
        const cwd = options.command === undefined ? (device.cwd ?? loaded?.folder) : undefined;
        started = await startCommand({
          ...common,
          line: command,
          cwd,
          address,
          control: controlAddress,
        });
      } else if (image !== undefined) {
        const place = typeof image === 'string' ? { name: image } : image;
        const port = options.port === undefined ? {} : { port: options.port };
        const socket = options.socket === undefined ? {} : { socket: options.socket };
        const control = inside && options.control !== undefined ? { control: options.control } : {};
        started = await startDeviceImage({ ...common, image: { ...place, ...port, ...socket, ...control } });
      }
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'StartFailed') throw error;
      trouble = error.message;
    }
    closers.push(() => started?.close());
    const place: DeviceAddress = {
      ...(started?.address ?? address),
      ...(token === undefined ? {} : { token }),
      ...(ca === undefined ? {} : { ca, caFile }),
    };
    let transport: DeviceTransport;
    let http: HttpClient;
    try {
      // What did not start may never have said where it would serve.
      if (trouble !== undefined) throw new Error(trouble);
      transport = transportOf(place, redactor);
      http = deviceClient(transport, place, redactor);
    } catch (error) {
      if (error instanceof UsageError) throw error;
      trouble ??= error instanceof Error ? error.message : String(error);
      transport = nowhere(place);
      http = new HttpClient({ endpoint: { origin: 'http://127.0.0.1:1' }, recorder: new Recorder(redactor) });
    }
    trouble ??= await whyUnreachable(http, hintFor(transport));

    let control: Control = noControl;
    closers.push(
      () => http.close(),
      () => control.close(),
    );
    let info: ControlInfo = { capabilities: [] };
    if (trouble === undefined) {
      try {
        control = await controlFor(options, controlAddress ?? started?.control, loaded, started, env, http);
        info = withDeclared(await control.info(), loaded?.file.control ?? {});
      } catch (error) {
        if (!(error instanceof ControlError) && !(error instanceof Unreachable)) throw error;
        trouble = `${error.message}. The device answers, but its control does not: without --control the black-box checks still run.`;
      }
    }
    if (transport.kind === 'unix') capabilities.add('unix');
    if (transport.kind === 'loopback') capabilities.add('loopback');
    if (transport.kind === 'unix' && process.getuid?.() === 0) capabilities.add('root');
    for (const name of info.capabilities) if (isCapability(name)) capabilities.add(name);

    const name = options.name ?? loaded?.file.name;
    const version = options.version ?? loaded?.file.version;
    const digest = started?.digest ?? digestOf(options.artifact ?? loaded?.file.artifact);
    const description: TargetDescription = {
      kind: started?.kind ?? transport.kind,
      address: describe(transport),
      capabilities: [...capabilities],
      control: control.kind,
      api_version: DEVICE_API_PREFIX.slice(1),
      ...(name === undefined ? {} : { name }),
      ...(version === undefined ? {} : { version }),
      ...(digest === undefined ? {} : { digest }),
    };
    const { patienceMs = PATIENCE_MS } = options;
    const heartbeatSeconds = info.heartbeat_seconds ?? HEARTBEAT_SECONDS;
    const opened = { transport, control, info, capabilities, heartbeatSeconds };
    return {
      ...opened,
      http,
      redactor,
      context: (recorder, signal) => ({
        ...opened,
        http: http.with({ recorder, signal, timeoutMs: patienceMs }),
        patienceMs,
      }),
      description: redactor.value(description),
      unreachable: trouble === undefined ? undefined : redactor.text(trouble),
      diagnostics: () => redactor.text(started?.diagnostics() ?? ''),
      close,
      [Symbol.asyncDispose]: close,
    };
  });
}

/** A target file may say what control does not: limits, and where log and config files are. */
function withDeclared(info: ControlInfo, file: Partial<ControlInfo>): ControlInfo {
  const { retention, heartbeat_seconds, event_log, config_root } = file;
  const capabilities = new Set(info.capabilities);
  if (event_log !== undefined) capabilities.add('log');
  if (config_root !== undefined) capabilities.add('files');
  return {
    ...(retention === undefined ? {} : { retention }),
    ...(heartbeat_seconds === undefined ? {} : { heartbeat_seconds }),
    ...(event_log === undefined ? {} : { event_log }),
    ...(config_root === undefined ? {} : { config_root }),
    ...info,
    capabilities: [...capabilities],
  };
}

async function controlFor(
  options: DeviceTargetOptions,
  address: string | undefined,
  loaded: LoadedTarget | undefined,
  started: Started | undefined,
  env: Record<string, string | undefined>,
  device: HttpClient,
): Promise<Control> {
  const { http: _, ...commands } = loaded?.file.control ?? {};
  const own: Control =
    options.attach !== undefined
      ? await options.attach(device)
      : address !== undefined
        ? new HttpControl(address)
        : ['drive', 'compact', 'stop', 'start'].some((name) => name in commands)
          ? new CommandControl(commands, { env, ...(loaded === undefined ? {} : { cwd: loaded.folder }) })
          : noControl;
  return started?.restart === undefined ? own : new RestartControl(own, started.restart);
}

function oneAddress(options: DeviceTargetOptions): DeviceAddress | undefined {
  // With an image, --socket is the path inside the container.
  if (options.image !== undefined) return {};
  const given = pick(options, ['socket', 'discovery', 'url']);
  const names = Object.keys(given);
  if (names.length > 1) throw new UsageError(`--${names.join(' and --')}: give one of them`);
  return names.length === 0 ? undefined : given;
}

function pick<K extends string>(
  from: { [key in K]?: string | undefined },
  keys: readonly K[],
): { [key in K]?: string } {
  return Object.fromEntries(keys.flatMap((key) => (from[key] === undefined ? [] : [[key, from[key]]]))) as {
    [key in K]?: string;
  };
}

function nowhere(address: DeviceAddress): DeviceTransport {
  if (address.socket !== undefined) return { kind: 'unix', socketPath: address.socket };
  if (address.discovery !== undefined) return { kind: 'loopback', discovery: address.discovery, port: 1, token: '' };
  return { kind: 'url', url: address.url ?? 'http://127.0.0.1:1' };
}

function describe(transport: DeviceTransport): string {
  switch (transport.kind) {
    case 'unix':
      return `unix:${transport.socketPath}`;
    case 'loopback':
      return `http://127.0.0.1:${transport.port} (from ${transport.discovery})`;
    case 'url':
      return transport.url;
  }
}
