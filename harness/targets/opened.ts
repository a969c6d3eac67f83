/** An opened target: what it offers to a run and to the checks of each suite, and how all of it is closed again. */

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

/** For the checks of the device suite. */
export interface DeviceContext extends TargetHooks {
  readonly transport: Connection;
  /**
   * Speaks to the Device API with its base path, and with the bearer token where the transport needs one.
   * `http.with({headers: {}})` drops credentials, `request({absolute: true})` leaves the base path out. Records into
   * this check's own recorder.
   */
  readonly http: HttpClient;
  readonly capabilities: ReadonlySet<Capability>;
  /**
   * Offers the calls for which the target has the capability: drive, compact, restart. The others throw ControlError.
   */
  readonly control: Control;
  readonly info: ControlInfo;
  /** The files at the paths that `info` names. */
  readonly files: TargetFiles;
  /** Heartbeat interval in seconds, as control declares it; 30 when it declares none. */
  readonly heartbeatSeconds: number;
  /**
   * How long a check waits for something that should happen at once, milliseconds (from `--patience`, default 10 s).
   */
  readonly patienceMs: number;
}

/** For the checks of the platform suite. */
export interface PlatformContext extends TargetHooks {
  /** Speaks to the Platform API with key and version header. `with({headers})` changes them. */
  readonly http: HttpClient;
  /** Name of the header that carries the API version. */
  readonly versionHeader: string;
  /** The version this run speaks. */
  readonly apiVersion: string;
  readonly apiKey: string;
  /** Without `devices:read`. Present with capability `limited-key`. */
  readonly limitedKey: string | undefined;
  readonly capabilities: ReadonlySet<Capability>;
  /** Ids of devices that do and do not answer a ping. Present with `online-device` / `offline-device`. */
  readonly onlineDevice: string | undefined;
  readonly offlineDevice: string | undefined;
  /** No check may write to this platform. */
  readonly readOnly: boolean;
  /** How long a check waits for something that should happen at once, milliseconds. */
  readonly patienceMs: number;
}

/** For the checks of the system suite: both sides of the service, with the device enrolled in the platform. */
export interface SystemContext extends TargetHooks {
  readonly platform: PlatformContext;
  readonly device: DeviceContext;
  /** The platform's id of that device. */
  readonly deviceId: string;
  /**
   * Cuts and restores the agent's connection to the platform. Present with capability `restart` by stopping the agent
   * instead.
   */
  offline(): Promise<void>;
  online(): Promise<void>;
}

/** For the checks of the client suite: the client runs once a situation, and the check plays the server. */
export interface ClientContext extends Pick<TargetHooks, 'wrote'> {
  readonly start: StartClient;
  /** Name of the header that carries the version of the Platform API. */
  readonly versionHeader: string;
  readonly recorder: Recorder;
  readonly capabilities: ReadonlySet<Capability>;
  /** How long a check waits without a sign of progress, milliseconds (from `--patience`, default 10 s). */
  readonly patienceMs: number;
}

export type StartClient = (situation: ClientStart, listener: ClientListener) => RunningClient;

/** What a client is started for. */
export interface ClientStart {
  /** Environment variables beside the usual ones. */
  readonly variables: Readonly<Record<string, string>>;
  /**
   * The folder in which the variables name paths. A client in a container has it elsewhere, and variables that say so.
   */
  readonly folder?: string | undefined;
}

/** Called with what the client does. */
export interface ClientListener {
  /** It printed a line on its standard output. */
  line(text: string): void;
  /** It ended, after its last line. */
  ended(): void;
}

/** One run of a client. */
export interface RunningClient {
  /** How it ended although nobody stopped it, in words; undefined while it runs. */
  readonly how: string | undefined;
  /** Its exit code; undefined while it runs, and when a signal ended it. */
  readonly code: number | undefined;
  /** The end of what it wrote to its standard error. */
  readonly diagnostics: string;
  /** Ends it with everything that it started. Idempotent. */
  stop(): Promise<void>;
}

/** An opened target, as a suite is run against it. */
export interface OpenedTarget<Context> extends AsyncDisposable {
  readonly description: TargetDescription;
  readonly capabilities: ReadonlySet<Capability>;
  /**
   * Why the target cannot be checked, and what to try; undefined when it answers. This is no exception because an
   * unreachable target gets a report as well.
   */
  readonly unreachable: string | undefined;
  /** The end of what the target wrote to its standard error; empty when Muster did not start it. */
  diagnostics(): Promise<string>;
  /**
   * Called when the run is over: corrects `description` where what was measured at the start does not hold any more.
   */
  conclude(): void;
  /** The context of one check, whose exchanges go to `recorder` and end with `signal`. */
  context(recorder: Recorder, signal: AbortSignal): Context;
  /** Keeps the target's secrets out of reports. */
  readonly redactor?: Redactor;
}

/** Ends what was opened. */
interface Closing extends AsyncDisposable {
  /** Idempotent. Throws AggregateError. */
  close(): Promise<void>;
}

interface OpenTarget<Context> extends OpenedTarget<Context>, Closing {
  /** A client without a recorder of its own; `http.with({ recorder })` for each check. */
  readonly http: HttpClient;
  readonly redactor: Redactor;
}

/** An opened Device API. `control` throws ControlError on every call when the target has none. */
export interface OpenDeviceTarget
  extends OpenTarget<DeviceContext>,
    Pick<DeviceContext, 'transport' | 'control' | 'info' | 'files' | 'heartbeatSeconds'> {}

/** An opened Platform API. */
export interface OpenPlatformTarget
  extends OpenTarget<PlatformContext>,
    Omit<PlatformContext, 'http' | 'capabilities' | 'patienceMs'> {
  readonly dialect: Dialect;
}

/** Closes one thing that was opened; undefined when there is nothing to wait for. */
export type Closer = () => Promise<void> | undefined;

/** Closes everything, whatever fails; throws what failed, together. */
async function closeAll(closers: readonly Closer[]): Promise<void> {
  const results = await Promise.allSettled(closers.map((close) => close()));
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  if (errors.length > 0) throw new AggregateError(errors, 'the target could not be closed cleanly');
}

/**
 * Calls `open`, which adds a closer for everything that it opens. When `open` throws, for example because of an
 * interrupt while an agent starts, what it opened so far is closed and the error is passed on.
 */
export async function opening<T>(open: (closers: Closer[]) => Promise<T>): Promise<T & Closing> {
  const closers: Closer[] = [];
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= closeAll(closers);
    return closing;
  };
  try {
    return { ...(await open(closers)), close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

/** Starts a target, if the settings say how; a StartFailed becomes the `problem` that its report will show. */
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

/** What was started, where it was reached, and why it cannot be checked. */
interface Reached {
  settings: StartSettings;
  options: TargetOptions;
  started: Started | undefined;
  place: { kind: string; address: string };
  problem: string | undefined;
}

/** What an opened target says of itself, with `more` of its own kind. */
export function described(
  { settings: { at, command, image, file }, options, started, place, problem }: Reached,
  more: Omit<TargetDescription, 'kind' | 'address'>,
) {
  const { redactor } = options;
  // A target that did not start may never have said where it serves.
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

/** What a target that Muster started writes while a check is under way. */
export const writing = (started: Started | undefined, recorder: Recorder): Pick<TargetHooks, 'wrote'> => {
  const written = started?.written;
  return written === undefined ? {} : { wrote: () => written.during(recorder) };
};

/** The very first answer may take so many times the patience: what the target runs on may still be starting. */
const FIRST_ANSWER_PATIENCES = 3;
/** A target that is started beside this run needs a moment until it listens. */
const LISTENS_WITHIN_MS = 5_000;
/** What every check would wait for, and learn nothing by. */
const UNDECIDED = [NoAnswerInTime, Unreachable, Unfinished];

/**
 * Why the target cannot be checked; undefined when it can. Sends all `requests` at once, and ends as soon as the target
 * has answered one of them in whole, or closes the connection: the suite decides whether that is right.
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
