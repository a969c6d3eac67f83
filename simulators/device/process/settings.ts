/** What crosses between a supervisor and its agent process: the settings of the device, then calls and replies. */
import type { ControlDeployment } from '../../../harness/contract/control.ts';
import type { Dialect } from '../../../harness/contract/versions.ts';
import type { DeviceOptions } from '../options.ts';
import type { PlaceOption } from '../start-error.ts';
import type { TransportOptions } from '../transport/index.ts';

/** A simulated device as data, as the command line describes it. */
export interface ProcessSettings {
  device: Pick<
    DeviceOptions,
    | keyof TransportOptions
    | 'dir'
    | 'retain'
    | 'retainBytes'
    | 'heartbeatMs'
    | 'durability'
    | 'deviceId'
    | 'name'
    | 'faults'
    | 'seed'
    | 'failedMs'
    | 'retryMs'
  >;
  defect?: string;
  variant?: string;
  uplink?: UplinkSettings;
  logLevel: string;
}

export interface UplinkSettings {
  kind: 'agent' | 'polling';
  platform: string;
  /** Provisioning token of an `agent`, API key of a `polling` uplink. */
  token?: string;
  mqtt?: string;
  dialect?: Dialect;
}

export type Call =
  | { id: number; op: 'deploy'; wanted: ControlDeployment }
  | { id: number; op: 'remove'; deployment: string }
  | { id: number; op: 'publish'; count: number }
  | { id: number; op: 'compact' };

/** The ready line of a device. */
export interface Ready {
  ready: true;
  device_id: string;
  /** Where it serves: `socket`, `discovery`, `url`. */
  [address: string]: string | true;
}

export type Reply =
  | { kind: 'ready'; ready: Ready }
  | { kind: 'broken'; message: string; option?: PlaceOption }
  | { kind: 'result'; id: number; value: unknown }
  | { kind: 'error'; id: number; status: number; code: string; message: string };
