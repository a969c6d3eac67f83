/** What the checks of each suite are given, beside CheckContext: how the target is reached and what it can be made to do. */

import type { HttpClient } from '../client/http.ts';
import type { Capability } from '../contract/capabilities.ts';
import type { ControlInfo } from '../contract/control.ts';
import type { Control } from './control/control.ts';
import type { Connection } from './transports/transport.ts';

/** For the checks of the device suite. */
export interface DeviceContext {
  readonly transport: Connection;
  /**
   * Speaks to the Device API with its base path, and with the bearer token where the transport needs one. `http.with({headers: {}})`
   * drops credentials, `request({absolute: true})` leaves the base path out. Records into this check's own recorder.
   */
  readonly http: HttpClient;
  readonly capabilities: ReadonlySet<Capability>;
  /** Offers the calls for which the target has the capability: drive, compact, restart. The others throw ControlError. */
  readonly control: Control;
  readonly info: ControlInfo;
  /** Heartbeat interval in seconds, as control declares it; 30 when it declares none. */
  readonly heartbeatSeconds: number;
  /** How long a check waits for something that should happen at once, milliseconds (from `--patience`, default 10 s). */
  readonly patienceMs: number;
}

/** For the checks of the platform suite. */
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
  /** How long a check waits for something that should happen at once, milliseconds. */
  readonly patienceMs: number;
}

/** For the checks of the system suite: both sides of the service, with the device enrolled in the platform. */
export interface SystemContext {
  readonly platform: PlatformContext;
  readonly device: DeviceContext;
  /** The platform's id of that device. */
  readonly deviceId: string;
  /** Cuts and restores the agent's connection to the platform. Present with capability `restart` by stopping the agent instead. */
  offline(): Promise<void>;
  online(): Promise<void>;
}
