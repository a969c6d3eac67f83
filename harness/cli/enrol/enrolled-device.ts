/** A device target whose agent enrols in a platform of Muster's own. */
import process from 'node:process';
import type { HttpClient } from '../../client/http.ts';
import type { Redactor } from '../../client/redact.ts';
import { UsageError } from '../../common/usage.ts';
import { pollWithin } from '../../common/waiting.ts';
import { ControlError } from '../../targets/control/control.ts';
import type { TargetFile } from '../../targets/file-schema.ts';
import { openDeviceTarget } from '../../targets/open-device.ts';
import type { OpenDeviceTarget } from '../../targets/opened.ts';
import type { DeviceTargetOptions } from '../../targets/options.ts';
import { type ControlPlatform, type ControlPlatformOptions, startControlPlatform } from './control-platform.ts';
import { type OwnPlatformArguments, ownPlatform } from './platform-options.ts';

/** An agent that Muster started serves already when its enrolment is awaited. */
const STARTED_ENROL_MS = 60_000;
const SERVE_MS = 10_000;
const POLL_MS = 100;

/** Whether Muster starts the agent, and its target file. Throws UsageError for a container, whose loopback is another one. */
export async function agentSettings(
  { command, image, target }: Pick<DeviceTargetOptions, 'command' | 'image' | 'target'>,
  redactor: Redactor,
): Promise<{ started: boolean; file: TargetFile | undefined }> {
  const { loadTargetFile } = await import('../../targets/target-file.ts');
  const file = target === undefined ? undefined : loadTargetFile(target, process.env, redactor).file;
  if (command === undefined && (image ?? file?.device?.image) !== undefined) {
    throw new UsageError(
      "--image: a container cannot reach Muster's own platform, which listens on loopback. Start it yourself: --command 'docker run --rm --network host --env MUSTER_PLATFORM_URL --env MUSTER_MQTT_URL --env MUSTER_TOKEN …'",
    );
  }
  return { started: (command ?? file?.device?.command) !== undefined, file };
}

/** Muster puts what an agent needs into the environment of one that it starts; for one that is started by hand it is printed. */
export const announcer =
  (started: boolean) =>
  (text: string): void =>
    void (started || process.stderr.write(`${text}\n`));

/** Opens an agent that is to enrol: starts it, or waits until it has been started by hand. */
export async function openAgent(
  platform: ControlPlatform,
  target: DeviceTargetOptions,
  started: boolean,
): Promise<OpenDeviceTarget> {
  if (started) return openDeviceTarget(target);
  const trouble = await platform.enrolled().then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof ControlError) return error.message;
      throw error;
    },
  );
  let opened = await openDeviceTarget(target);
  const served = async (): Promise<true | undefined> => {
    if (opened.unreachable === undefined || trouble !== undefined) return true;
    await opened.close();
    opened = await openDeviceTarget(target);
    return opened.unreachable === undefined || undefined;
  };
  try {
    // It may enrol before it serves.
    await pollWithin('the agent to serve', served, {
      timeoutMs: SERVE_MS,
      firstPauseMs: POLL_MS,
      signal: target.signal,
    });
  } catch (error) {
    await opened.close();
    throw error;
  }
  return trouble === undefined ? opened : { ...opened, unreachable: trouble };
}

/** A device target whose agent is enrolled in a platform of Muster's own, which ends with it. */
export async function openEnrolledDevice(
  target: DeviceTargetOptions,
  options: Omit<ControlPlatformOptions, 'announce'> & Partial<Pick<ControlPlatformOptions, 'announce'>>,
  own: OwnPlatformArguments = { 'platform-tls': false },
): Promise<OpenDeviceTarget> {
  const { started, file } = await agentSettings(target, options.redactor);
  const platform = await startControlPlatform({
    ...ownPlatform(own, file),
    announce: announcer(started),
    ...(started ? { enrolMs: STARTED_ENROL_MS } : {}),
    ...options,
  });
  try {
    const { control: _, ...rest } = target;
    const env = { ...(target.env ?? process.env), ...platform.env };
    const attach = (device: HttpClient) => {
      if (started)
        target.notify?.('waiting for it to enrol, with MUSTER_PLATFORM_URL, MUSTER_MQTT_URL and MUSTER_TOKEN');
      return platform.attach(device);
    };
    const opened = await openAgent(platform, { ...rest, env, placeholders: platform.placeholders, attach }, started);
    let closing: Promise<void> | undefined;
    const close = (): Promise<void> => {
      // The agent is closed first, because otherwise it would see its platform fail.
      closing ??= opened.close().finally(() => platform[Symbol.asyncDispose]());
      return closing;
    };
    return { ...opened, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await platform[Symbol.asyncDispose]();
    throw error;
  }
}
