/** A Device API under test: how it is reached, what it can be made to do, and what a check of the device suite is given. */

import type { HttpClient } from '../client/http.ts';
import type { ControlInfo } from '../contract/control.ts';
import type { Capability } from '../runner/types.ts';
import type { Control } from './control/control.ts';

export type DeviceTransport =
  | { kind: 'unix'; socketPath: string }
  | { kind: 'loopback'; discovery: string; port: number; token: string }
  | { kind: 'url'; url: string };

/** What every check of the device suite is given, beside CheckContext. */
export interface DeviceContext {
  readonly transport: DeviceTransport;
  /**
   * Speaks to the Device API: base path `/v0.2`, the bearer token where the transport needs one. `http.with({headers: {}})` drops
   * credentials, `request({absolute: true})` leaves the base path out. Records into this check's own recorder.
   */
  readonly http: HttpClient;
  readonly capabilities: ReadonlySet<Capability>;
  /** Present when the target declares any of drive, compact, restart, log, files. Checks that need one may rely on it. */
  readonly control: Control;
  readonly info: ControlInfo;
  /** Declared heartbeat interval, seconds; 30 when none is declared. */
  readonly heartbeatSeconds: number;
  /** How long a check waits for something that should happen at once, milliseconds (from `--patience`, default 10 s). */
  readonly patienceMs: number;
}

export interface PlatformContext {
  /** Speaks to the Platform API with key and version header. `with({headers})` changes them. */
  readonly http: HttpClient;
  readonly versionHeader: string;
  /** The version this run speaks. */
  readonly apiVersion: string;
  readonly apiKey: string;
  /** Without `devices:read`. Present with capability `limited-key`. */
  readonly limitedKey: string | undefined;
  readonly capabilities: ReadonlySet<Capability>;
  /** Present with `online-device` / `offline-device`. */
  readonly onlineDevice: string | undefined;
  readonly offlineDevice: string | undefined;
  readonly readOnly: boolean;
  readonly patienceMs: number;
}

/** Both sides of the whole service; the device under test is enrolled in the platform under test. */
export interface SystemContext {
  readonly platform: PlatformContext;
  readonly device: DeviceContext;
  /** The platform's id of that device. */
  readonly deviceId: string;
  /** Cuts and restores the agent's connection to the platform. Present with capability `restart` by stopping the agent instead. */
  offline(): Promise<void>;
  online(): Promise<void>;
}
