/** What an opened target gives, whichever way it was opened. */

import type { HttpClient } from '../client/http.ts';
import type { Redactor } from '../client/redact.ts';
import type { ControlInfo } from '../contract/control.ts';
import type { Dialect } from '../contract/versions.ts';
import type { Capability, TargetDescription } from '../runner/types.ts';
import type { Control } from './control/control.ts';
import type { DeviceTransport } from './device.ts';

interface OpenTarget extends AsyncDisposable {
  /** A client without a recorder of its own; `http.with({ recorder })` for each check. */
  readonly http: HttpClient;
  readonly capabilities: ReadonlySet<Capability>;
  readonly description: TargetDescription;
  /**
   * Why nothing can be decided about the target, and how to look for oneself; absent when it answers. An unreachable target is no
   * exception, because a report of it has to be written all the same.
   */
  readonly unreachable: string | undefined;
  /** What the target wrote to its standard error, for reports of trouble; empty when Muster did not start it. */
  diagnostics(): string;
  /** Ends what was started for this target. Idempotent. */
  close(): Promise<void>;
}

export interface OpenDeviceTarget extends OpenTarget {
  readonly transport: DeviceTransport;
  /** Throws ControlError on every call when there is none. */
  readonly control: Control;
  readonly info: ControlInfo;
  readonly heartbeatSeconds: number;
}

export interface OpenPlatformTarget extends OpenTarget {
  readonly dialect: Dialect;
  readonly versionHeader: string;
  readonly apiVersion: string;
  readonly apiKey: string;
  readonly limitedKey: string | undefined;
  readonly onlineDevice: string | undefined;
  readonly offlineDevice: string | undefined;
  readonly readOnly: boolean;
}

/** What is needed to start an image. Paths are inside the container. */
export interface ImageOptions {
  name: string;
  socket?: string;
  control?: string;
  port?: number;
  args?: readonly string[];
  env?: Record<string, string>;
  user?: string;
}

/** Options that every target shares. */
export interface TargetOptions {
  /** Target file (YAML); what is given beside it on the command line wins. */
  target?: string;
  /** PEM file of certificate authorities to trust besides the system's. */
  ca?: string;
  /** Shell line that starts the target; it is ended with all its children. */
  command?: string;
  /** Container image, started through Docker; as in a target file. */
  image?: string | ImageOptions;
  /** Port that the image listens on, to be mapped. */
  port?: number;
  /** Declared beside those that are detected. */
  capability?: readonly string[];
  /** File whose SHA-256 identifies what is tested. */
  artifact?: string;
  /** Declared name and version of what is tested. */
  name?: string;
  version?: string;
  redactor: Redactor;
  env?: Record<string, string | undefined>;
  /** How long a started target may take until it serves. Default 60 s. */
  startMs?: number;
  /** Told in words what is being waited for. */
  notify?(text: string): void;
  signal?: AbortSignal;
}

export interface DeviceTargetOptions extends TargetOptions {
  socket?: string;
  discovery?: string;
  url?: string;
  /** Bearer token, with `url`. */
  token?: string;
  /** Address of a control API: URL, port or socket path. */
  control?: string;
  /** Makes the control instead, once the device answers (`--control platform`). Throws ControlError. */
  attach?(device: HttpClient): Promise<Control>;
}

export interface PlatformTargetOptions extends TargetOptions {
  /** `{base_url}`. */
  url?: string;
  apiKey?: string;
  limitedKey?: string;
  dialect?: Dialect;
  apiVersion?: string;
  onlineDevice?: string;
  offlineDevice?: string;
  readOnly?: boolean;
}
