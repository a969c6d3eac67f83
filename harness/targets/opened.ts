import { NoAnswerInTime, Unfinished, Unreachable } from '../client/errors.ts';
import type { HttpClient, HttpRequest } from '../client/http.ts';
import type { Recorder } from '../client/recorder.ts';
import type { Redactor } from '../common/redact.ts';
import { readableDuration } from '../common/units.ts';
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
import { type Connection, whyUnreachable } from './transports/index.ts';

export interface DeviceContext extends TargetHooks {
  readonly transport: Connection;
  /**
   * Has base path and bearer token of the Device API; `with({headers: {}})` drops the credentials, and
   * `request({absolute: true})` the base path.
   */
  readonly http: HttpClient;
  readonly capabilities: ReadonlySet<Capability>;
  /** Control of the agent; calls of undeclared capabilities throw ControlError. */
  readonly control: Control;
  readonly info: ControlInfo;
  readonly files: TargetFiles;
  /** Heartbeat interval in seconds, declared by control. Default 30. */
  readonly heartbeatSeconds: number;
  /** Milliseconds that a check waits for an immediate effect (`--patience`). Default 10 000. */
  readonly patienceMs: number;
}

export interface PlatformContext extends TargetHooks {
  /** Sends API key and version header, which `with({headers})` replaces. */
  readonly http: HttpClient;
  readonly versionHeader: string;
  readonly apiVersion: string;
  readonly apiKey: string;
  /** API key without the permission `devices:read`; defined with the capability `limited-key`. */
  readonly limitedKey: string | undefined;
  readonly capabilities: ReadonlySet<Capability>;
  /** Ids of two devices: `onlineDevice` answers pings, `offlineDevice` does not. */
  readonly onlineDevice: string | undefined;
  readonly offlineDevice: string | undefined;
  readonly readOnly: boolean;
  /** Milliseconds that a check waits for an immediate effect (`--patience`). Default 10 000. */
  readonly patienceMs: number;
}

export interface SystemContext extends TargetHooks {
  readonly platform: PlatformContext;
  readonly device: DeviceContext;
  readonly deviceId: string;
  /**
   * Cuts the agent's connection to the platform, or stops an agent with the capability `restart`. Throws ControlError
   * if neither is possible.
   */
  offline(): Promise<void>;
  online(): Promise<void>;
}

export interface ClientContext extends Pick<TargetHooks, 'standardError'> {
  readonly start: StartClient;
  readonly versionHeader: string;
  readonly recorder: Recorder;
  readonly capabilities: ReadonlySet<Capability>;
  /** Milliseconds without progress, after which a check stops waiting (`--patience`). Default 10 000. */
  readonly patienceMs: number;
}

export type StartClient = (situation: ClientStart, listener: ClientListener) => RunningClient;

export interface ClientStart {
  readonly variables: Readonly<Record<string, string>>;
  /** Folder on this machine to which `variables` refer; a container has it at a different path. */
  readonly folder?: string | undefined;
}

export interface ClientListener {
  line(text: string): void;
  /** Takes each line of standard error. */
  complaint?(text: string): void;
  ended(): void;
}

export interface RunningClient {
  readonly how: string | undefined;
  readonly code: number | undefined;
  readonly diagnostics: string;
  /** Ends the client and all its child processes. Idempotent. */
  stop(): Promise<void>;
}

export interface OpenedTarget<Context> extends AsyncDisposable {
  readonly description: TargetDescription;
  readonly capabilities: ReadonlySet<Capability>;
  /** Reason and hint if the target cannot be checked. Not thrown, because an unreachable target gets a report. */
  readonly unreachable: string | undefined;
  /** Last output of the target; empty if Muster did not start the target. */
  diagnostics(): Promise<string>;
  /** Removes the target's digest after the run if the executable has changed. */
  conclude(): void;
  context(recorder: Recorder, signal: AbortSignal): Context;
  readonly redactor?: Redactor;
}

interface Closing extends AsyncDisposable {
  /** Closes the target. Idempotent. Throws AggregateError if a resource fails to close. */
  close(): Promise<void>;
}

interface OpenTarget<Context> extends OpenedTarget<Context>, Closing {
  readonly http: HttpClient;
  readonly redactor: Redactor;
}

/** Opened Device API; without control, every call of `control` throws ControlError. */
export interface OpenDeviceTarget
  extends OpenTarget<DeviceContext>,
    Pick<DeviceContext, 'transport' | 'control' | 'info' | 'files' | 'heartbeatSeconds'> {}

export interface OpenPlatformTarget
  extends OpenTarget<PlatformContext>,
    Omit<PlatformContext, 'http' | 'capabilities' | 'patienceMs'> {
  readonly dialect: Dialect;
}

type Closer = () => Promise<void> | undefined;

/** Closes all resources if `open` throws; `open` adds a closer for each. */
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

/** Multiple of `patienceMs` for the first answer, because the target may still be starting. */
const FIRST_ANSWER_PATIENCES = 3;

/** A closed connection counts as an answer, because checks report it. */
export async function whySilent(
  http: HttpClient,
  requests: readonly HttpRequest[],
  hint: string,
  { patienceMs = PATIENCE_MS, firstAnswerMs: withinMs = FIRST_ANSWER_PATIENCES * patienceMs }: TargetOptions,
): Promise<string | undefined> {
  // A target gets up to 5 s to accept connections, e.g. when it was started beside Muster.
  const unreachable = await whyUnreachable(http, hint, Math.min(patienceMs, 5_000));
  if (unreachable !== undefined) return unreachable;
  const over = new AbortController();
  const asking = http.with({ timeoutMs: withinMs, signal: over.signal });
  const answered = requests.map((request) =>
    asking.request(request).catch((error: unknown) => {
      // Rethrows errors that every check would repeat; any other error counts as an answer.
      if ([NoAnswerInTime, Unreachable, Unfinished].some((kind) => error instanceof kind)) throw error;
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
