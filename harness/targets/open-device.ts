import { Unreachable } from '../client/errors.ts';
import { HttpClient } from '../client/http.ts';
import { Recorder } from '../client/recorder.ts';
import { defined } from '../common/defined.ts';
import { headerSecret } from '../common/usage.ts';
import type { ControlInfo } from '../contract/control.ts';
import { DEVICE_API_PREFIX } from '../contract/versions.ts';
import { CheckControl } from './control/check-control.ts';
import { type Control, ControlError, noControl, withDeclared } from './control/control.ts';
import { ControlledAgent } from './control/controlled-agent.ts';
import { CONTROL_TOKEN, CommandControl, HttpControl } from './control/ends.ts';
import { canFill, combinedControl, processControl, withCompaction, withFilling } from './control/layers.ts';
import { type DeviceTargetOptions, PATIENCE_MS } from './fields.ts';
import { hostFiles, withReadablePaths } from './files/target-files.ts';
import type { Started } from './launch/started.ts';
import { described, type OpenDeviceTarget, opening, tryStart, whySilent, writing } from './opened.ts';
import { type DeviceSettings, deviceSettings, isCapability } from './settings.ts';
import { TargetLife } from './target-life.ts';
import { type Connection, NOWHERE, url } from './transports/index.ts';

/** Throws UsageError for invalid options or an invalid target file; reports failures of the target in `unreachable`. */
export async function openDeviceTarget(options: DeviceTargetOptions): Promise<OpenDeviceTarget> {
  const { redactor, patienceMs = PATIENCE_MS } = options;
  const settings = deviceSettings(options);
  return opening(async (closers) => {
    let starting: Awaited<ReturnType<typeof tryStart>> = {};
    // Removes the folder after the agent's end, because the agent may still write into it.
    closers.push(() => (starting.started?.close() ?? Promise.resolve()).finally(() => settings.removeFolder()));
    starting = await tryStart(settings);
    const { started, problem: startProblem } = starting;
    const { connection, http, problem: reachProblem } = await reach(settings, options, started, startProblem);
    closers.push(() => http.close());
    const { control, info, problem } = await drive({ settings, options, started, http, problem: reachProblem });
    closers.push(() => control.close());

    const { capabilities } = settings;
    for (const name of [...connection.capabilities, ...info.capabilities])
      if (isCapability(name)) capabilities.add(name);
    const heartbeatSeconds = info.heartbeat_seconds ?? 30;
    const files = started?.files ?? hostFiles;
    const device = { transport: connection, control, info, files, capabilities, heartbeatSeconds };
    const placeAt = (path: string | undefined) => (path === undefined ? undefined : { path, files });
    const agent = new ControlledAgent({
      connection,
      redactor,
      log: placeAt(info.event_log),
      config: placeAt(info.config_root),
    });
    const { restart } = started ?? {};
    const life = new TargetLife({
      ask: (signal, question) => agent.ask(signal, question),
      isStopped: () => agent.isStopped,
      patienceMs,
      endedByItself: restart?.endedByItself,
      // While the started process runs, control starts the agent, because a test rig may outlive its agent.
      start:
        restart === undefined && !capabilities.has('restart')
          ? undefined
          : (signal) => (restart?.endedByItself?.() === undefined ? control : restart).start(signal),
    });
    const said = described(
      { settings, options, started, place: connection, problem },
      { capabilities: [...capabilities], control: control.kind, api_version: DEVICE_API_PREFIX.slice(1) },
    );
    return {
      ...device,
      ...said,
      http,
      context: (recorder, signal) => {
        const own = new CheckControl(control, agent, signal, recorder);
        return {
          ...device,
          control: own,
          http: http.with({ recorder, signal, timeoutMs: patienceMs }),
          patienceMs,
          ...life.hooks(recorder, signal, own),
          ...writing(started, recorder),
        };
      },
    };
  });
}

async function reach(
  settings: DeviceSettings,
  options: DeviceTargetOptions,
  started: Started | undefined,
  startProblem: string | undefined,
): Promise<{ connection: Connection; http: HttpClient; problem: string | undefined }> {
  const { redactor, userAgent } = options;
  const { transport, address } = started?.at ?? settings.at ?? { transport: url, address: NOWHERE };
  const { fields, ca, caFile } = settings;
  const connection: Connection = transport.open({
    address,
    fields,
    ca,
    caFile,
    redactor,
    headers: defined({ 'user-agent': userAgent }),
  });
  const recorder = new Recorder(redactor);
  const problem = startProblem ?? connection.problem;
  if (problem !== undefined) {
    return { connection, http: new HttpClient({ endpoint: { origin: NOWHERE }, recorder }), problem };
  }
  const http = connection.client(recorder);
  return { connection, http, problem: await whySilent(http, ASKED_FIRST, connection.hint, options) };
}

/**
 * Requests sent together; a single answer proves that the device is reachable. HEAD asks for events without a stream,
 * because a device may limit its streams.
 */
const ASKED_FIRST = [{ path: '/deployments/current' }, { method: 'HEAD', path: '/events' }];

interface Reached {
  settings: DeviceSettings;
  options: DeviceTargetOptions;
  started: Started | undefined;
  http: HttpClient;
  problem: string | undefined;
}

async function drive(reached: Reached) {
  const { settings, started, problem } = reached;
  const none: { info: ControlInfo; problem: string | undefined } = { info: { capabilities: [] }, problem };
  let control: Control = noControl;
  if (problem !== undefined) return { ...none, control };
  try {
    control = await controlFor(reached);
    const { http: _, platform, drive, compact, fill, stop, start, ...declared } = settings.file.control ?? {};
    let info = withDeclared(await control.info(), declared);
    const fills = fill !== undefined && canFill(info) && !info.capabilities.includes('compact');
    const { capabilities, folder: cwd, startOptions } = settings;
    if (fills && info.event_log !== undefined) {
      const files = started?.files ?? hostFiles;
      control = withFilling(control, { log: info.event_log, line: fill, env: startOptions.env, cwd, files });
      info = withCompaction(info);
    }
    if (started?.files === undefined) return { control, info, problem };
    const readable = await withReadablePaths(info, started.files, startOptions.notify);
    for (const name of ['log', 'files'] as const) if (!readable.capabilities.includes(name)) capabilities.delete(name);
    return { control, info: readable, problem };
  } catch (error) {
    if (!(error instanceof ControlError) && !(error instanceof Unreachable)) throw error;
    const advice = 'without --control the black-box checks still run.';
    const why = `${error.message}. The device answers, but its control does not: ${advice}`;
    return { ...none, control, problem: why };
  }
}

async function controlFor({ settings, options, started, http }: Reached): Promise<Control> {
  const { file, folder: cwd, startOptions, ca, caFile } = settings;
  const token = (options.controlToken ?? startOptions.env[CONTROL_TOKEN]) || undefined;
  if (token !== undefined) headerSecret(options.controlToken === undefined ? CONTROL_TOKEN : '--control-token', token);
  options.redactor.add(token, CONTROL_TOKEN);
  const address = settings.control ?? started?.control;
  const { http: _, platform, fill, ...commands } = file.control ?? {};
  const hasLines = ['drive', 'compact', 'stop', 'start'].some((name) => name in commands);
  const lines = hasLines ? new CommandControl(commands, { env: startOptions.env, cwd }) : noControl;
  const api = address === undefined ? noControl : new HttpControl(address, defined({ token, ca, caFile }));
  const attached = (await options.attach?.(http)) ?? noControl;
  const restarts = started?.restart === undefined ? noControl : processControl(started.restart);
  return [attached, api, lines, restarts].reduce((first, second) => combinedControl(first, second));
}
