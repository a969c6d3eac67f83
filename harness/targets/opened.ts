/** Opened target: its offer to a run and to the checks of each suite, and its closing. */

import { NoAnswerInTime, Unfinished, Unreachable } from '../client/errors.ts';
import type { HttpClient, HttpRequest } from '../client/http.ts';
import type { Recorder } from '../client/recorder.ts';
import { readableDuration } from '../common/durations.ts';
import type { Redactor } from '../common/redact.ts';
import type { ControlInfo } from '../contract/control.ts';
import type { Dialect } from '../contract/versions.ts';
import type { Capability, TargetDescription, TargetHooks } from '../runner/types.ts';
import type { Control } from './control/control.ts';
import { PATIENCE_MS, type TargetOptions } from './fields.ts';
import type { TargetFiles } from './files/target-files.ts';
import { concludeIdentity, identityOf } from './identity.ts';
import { startImage } from './launch/container.ts';
import { startCommand } from './launch/process.ts';
import { type Started, StartFailed } from './launch/started.ts';
import type { StartSettings } from './settings.ts';
import { type Connection, whyUnreachable } from './transports/transport.ts';

export interface DeviceContext extends TargetHooks {
  readonly transport: Connection;
  /**
   * Client of the Device API with base path, and with the bearer token if the transport needs one.
   * `http.with({headers: {}})` drops credentials, `request({absolute: true})` leaves the base path out. Records into
   * the recorder of this check.
   */
  readonly http: HttpClient;
  readonly capabilities: ReadonlySet<Capability>;
  /** Makes the calls of the declared capabilities: drive, compact, restart. Others throw ControlError. */
  readonly control: Control;
  readonly info: ControlInfo;
  readonly files: TargetFiles;
  /** Heartbeat interval in seconds, as control declares it. Default 30. */
  readonly heartbeatSeconds: number;
  /** Milliseconds a check waits for something that should happen at once (`--patience`). Default 10 000. */
  readonly patienceMs: number;
}

export interface PlatformContext extends TargetHooks {
  /** Client of the Platform API with key and version header. `with({headers})` changes them. */
  readonly http: HttpClient;
  readonly versionHeader: string;
  readonly apiVersion: string;
  readonly apiKey: string;
  /** Key without `devices:read`. Present with capability `limited-key`. */
  readonly limitedKey: string | undefined;
  readonly capabilities: ReadonlySet<Capability>;
  /** Ids of devices that do and do not answer a ping. Present with `online-device` / `offline-device`. */
  readonly onlineDevice: string | undefined;
  readonly offlineDevice: string | undefined;
  readonly readOnly: boolean;
  /** Milliseconds a check waits for something that should happen at once. */
  readonly patienceMs: number;
}

export interface SystemContext extends TargetHooks {
  readonly platform: PlatformContext;
  readonly device: DeviceContext;
  readonly deviceId: string;
  /**
   * Cuts and restores the agent's connection to the platform. With capability `restart` it may stop the agent instead.
   */
  offline(): Promise<void>;
  online(): Promise<void>;
}

/** Client under test, run once a situation; the check plays the server. */
export interface ClientContext extends Pick<TargetHooks, 'standardError'> {
  readonly start: StartClient;
  readonly versionHeader: string;
  readonly recorder: Recorder;
  readonly capabilities: ReadonlySet<Capability>;
  /** Milliseconds a check waits without progress (`--patience`). Default 10 000. */
  readonly patienceMs: number;
}

export type StartClient = (situation: ClientStart, listener: ClientListener) => RunningClient;

export interface ClientStart {
  readonly variables: Readonly<Record<string, string>>;
  /** Folder of the paths in the variables. A container has it elsewhere, and its variables accordingly. */
  readonly folder?: string | undefined;
}

export interface ClientListener {
  line(text: string): void;
  ended(): void;
}

export interface RunningClient {
  readonly how: string | undefined;
  readonly code: number | undefined;
  readonly diagnostics: string;
  /** Ends the client with all its children. Idempotent. */
  stop(): Promise<void>;
}

export interface OpenedTarget<Context> extends AsyncDisposable {
  readonly description: TargetDescription;
  readonly capabilities: ReadonlySet<Capability>;
  /**
   * Reason why the target cannot be checked, and a hint; undefined if it answers. A value instead of an exception,
   * because an unreachable target gets a report too.
   */
  readonly unreachable: string | undefined;
  /** End of the target's standard error; empty if Muster did not start it. */
  diagnostics(): Promise<string>;
  /** Called after the run: corrects measurements in `description` that have become invalid. */
  conclude(): void;
  context(recorder: Recorder, signal: AbortSignal): Context;
  readonly redactor?: Redactor;
}

interface Closing extends AsyncDisposable {
  /** Idempotent. Throws AggregateError. */
  close(): Promise<void>;
}

interface OpenTarget<Context> extends OpenedTarget<Context>, Closing {
  /** Client without a recorder; `http.with({ recorder })` for each check. */
  readonly http: HttpClient;
  readonly redactor: Redactor;
}

/** Opened Device API. Without control every call of `control` throws ControlError. */
export interface OpenDeviceTarget
  extends OpenTarget<DeviceContext>,
    Pick<DeviceContext, 'transport' | 'control' | 'info' | 'files' | 'heartbeatSeconds'> {}

export interface OpenPlatformTarget
  extends OpenTarget<PlatformContext>,
    Omit<PlatformContext, 'http' | 'capabilities' | 'patienceMs'> {
  readonly dialect: Dialect;
}

/** Closes one resource; undefined if there is nothing to wait for. */
type Closer = () => Promise<void> | undefined;

/**
 * Calls `open`, which adds a closer for each resource. If `open` throws, e.g. on an interrupt while an agent starts,
 * closes the resources and rethrows.
 */
export async function opening<T>(open: (closers: Closer[]) => Promise<T>): Promise<T & Closing> {
  const closers: Closer[] = [];
  let closing: Promise<void> | undefined;
  const closeAll = async (): Promise<void> => {
    const results = await Promise.allSettled(closers.map((closer) => closer()));
    const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    if (errors.length > 0) throw new AggregateError(errors, 'the target could not be closed cleanly');
  };
  const close = (): Promise<void> => {
    closing ??= closeAll();
    return closing;
  };
  try {
    return { ...(await open(closers)), close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

/** Starts a target if the settings say how; StartFailed becomes the `problem` of its report. */
export async function tryStart(settings: StartSettings): Promise<{ started?: Started; problem?: string }> {
  const { command, cwd, image, at, control, startOptions } = settings;
  try {
    if (command !== undefined)
      return { started: await startCommand({ ...startOptions, line: command, cwd, at, control }) };
    return image === undefined ? {} : { started: await startImage(startOptions, image) };
  } catch (error) {
    if (!(error instanceof StartFailed)) throw error;
    return { problem: error.message };
  }
}

interface Reached {
  settings: StartSettings;
  options: TargetOptions;
  started: Started | undefined;
  place: { kind: string; address: string };
  problem: string | undefined;
}

export function described(
  { settings: { at, command, image, file }, options, started, place, problem }: Reached,
  more: Omit<TargetDescription, 'kind' | 'address'>,
) {
  const { redactor } = options;
  // A target that did not start may have no address.
  const nowhere = started === undefined && at === undefined;
  const description: TargetDescription = redactor.value({
    kind: started?.kind ?? (command !== undefined ? 'command' : image === undefined ? place.kind : 'image'),
    address: (nowhere ? (command ?? image?.name) : undefined) ?? place.address,
    ...more,
    ...identityOf(options, file, started?.ran),
    ...(started === undefined ? {} : { ended: true }),
  });
  return {
    redactor,
    description,
    conclude: () => concludeIdentity(description, started?.ran),
    unreachable: problem === undefined ? undefined : redactor.text(problem),
    diagnostics: async () => redactor.text((await started?.diagnostics()) ?? ''),
  };
}

export const writing = (started: Started | undefined, recorder: Recorder): Pick<TargetHooks, 'standardError'> => {
  const written = started?.written;
  return written === undefined ? {} : { standardError: () => written.during(recorder) };
};

/** Patiences for the very first answer: the target's runtime may still be starting. */
const FIRST_ANSWER_PATIENCES = 3;
/** Milliseconds for a target that is started beside this run to listen. */
const LISTENS_WITHIN_MS = 5_000;
/** Errors that every check would meet again without deciding anything. */
const UNDECIDED = [NoAnswerInTime, Unreachable, Unfinished];

/**
 * Reason why the target cannot be checked; undefined if it can. Sends all `requests` at once, and ends with the first
 * whole answer or closed connection: the suite decides whether that is right.
 */
export async function whySilent(
  http: HttpClient,
  requests: readonly HttpRequest[],
  hint: string,
  { patienceMs = PATIENCE_MS, firstAnswerMs: withinMs = FIRST_ANSWER_PATIENCES * patienceMs }: TargetOptions,
): Promise<string | undefined> {
  const unreachable = await whyUnreachable(http, hint, Math.min(patienceMs, LISTENS_WITHIN_MS));
  if (unreachable !== undefined) return unreachable;
  const over = new AbortController();
  const asking = http.with({ timeoutMs: withinMs, signal: over.signal });
  const answered = requests.map((request) =>
    asking.request(request).catch((error: unknown) => {
      if (UNDECIDED.some((kind) => error instanceof kind)) throw error;
    }),
  );
  try {
    await Promise.any(answered);
    return undefined;
  } catch (error) {
    const errors: unknown[] = (error as AggregateError).errors;
    const told = errors.find((one) => one instanceof Unreachable || one instanceof Unfinished);
    if (told !== undefined) return `${(told as Error).message}. ${hint}`;
    const within = readableDuration(withinMs);
    return `${http.describe()}: accepts connections and has answered nothing within ${within}. ${hint}`;
  } finally {
    over.abort();
  }
}
