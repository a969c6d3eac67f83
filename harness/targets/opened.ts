/** What opening a target yields, whichever way it was opened, and how all of it is closed again. */
import type { HttpClient } from '../client/http.ts';
import type { Recorder } from '../client/recorder.ts';
import type { Redactor } from '../client/redact.ts';
import type { ControlInfo } from '../contract/control.ts';
import type { Dialect } from '../contract/versions.ts';
import type { Capability, TargetDescription } from '../runner/types.ts';
import type { DeviceContext, PlatformContext } from './contexts.ts';
import type { Control } from './control/control.ts';
import type { Connection } from './transports/transport.ts';

/** An opened target, as a suite is run against it. */
export interface OpenedTarget<Context> extends AsyncDisposable {
  readonly description: TargetDescription;
  readonly capabilities: ReadonlySet<Capability>;
  /**
   * Why the target cannot be checked, and how to look for oneself; undefined when it answers. This is no exception because an
   * unreachable target gets a report as well.
   */
  readonly unreachable: string | undefined;
  /** The end of what the target wrote to its standard error; empty when Muster did not start it. */
  diagnostics(): string;
  /** The context of one check, whose exchanges go to `recorder` and end with `signal`. */
  context(recorder: Recorder, signal: AbortSignal): Context;
  /** Keeps the target's secrets out of reports. */
  readonly redactor?: Redactor;
}

interface OpenTarget<Context> extends OpenedTarget<Context> {
  /** A client without a recorder of its own; `http.with({ recorder })` for each check. */
  readonly http: HttpClient;
  readonly redactor: Redactor;
  /** Ends what was started for this target. Idempotent. Throws AggregateError. */
  close(): Promise<void>;
}

/** An opened Device API. */
export interface OpenDeviceTarget extends OpenTarget<DeviceContext> {
  readonly transport: Connection;
  /** Throws ControlError on every call when the target has no control. */
  readonly control: Control;
  /** What control can do, with what a target file declares. */
  readonly info: ControlInfo;
  /** 30 when control declares none. */
  readonly heartbeatSeconds: number;
}

/** An opened Platform API. */
export interface OpenPlatformTarget extends OpenTarget<PlatformContext> {
  readonly dialect: Dialect;
  /** Name of the header that carries the API version. */
  readonly versionHeader: string;
  readonly apiVersion: string;
  readonly apiKey: string;
  /** A key without devices:read. */
  readonly limitedKey: string | undefined;
  /** Ids of devices that do and do not answer a ping, when any are known. */
  readonly onlineDevice: string | undefined;
  readonly offlineDevice: string | undefined;
  /** No check may write to this platform. */
  readonly readOnly: boolean;
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
 * Calls `open`, which adds a closer for everything that it opens. When `open` throws, for example because of an interrupt while an
 * agent starts, what it opened so far is closed and the error is passed on. `close` is idempotent.
 */
export async function opening<T>(open: (closers: Closer[], close: () => Promise<void>) => Promise<T>): Promise<T> {
  const closers: Closer[] = [];
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= closeAll(closers);
    return closing;
  };
  try {
    return await open(closers, close);
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}
