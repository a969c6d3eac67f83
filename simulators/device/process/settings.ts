/** A simulated device as data: what the command line asks for, and what crosses to a process of its own. */
import type { Dialect } from '../../../harness/contract/versions.ts';
import { type DeviceBehaviour, referenceBehaviour } from '../behaviour.ts';
import type { DeviceOptions, Logger } from '../options.ts';
import type { TransportOptions } from '../transport/index.ts';

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

/** Throws when a defect, a variant or an address is unknown. Loads only what is asked for: a restart should be quick. */
export async function deviceOptions(settings: ProcessSettings, log: Logger): Promise<DeviceOptions> {
  const { device, uplink } = settings;
  return {
    ...device,
    log,
    behaviour: await behaviourOf(settings),
    ...(uplink ? { uplink: await uplinkOf(uplink, log) } : {}),
  };
}

async function behaviourOf({ defect, variant }: ProcessSettings): Promise<DeviceBehaviour> {
  if (defect !== undefined) {
    const { deviceDefect } = await import('../../defects/device/index.ts');
    return deviceDefect(defect).behaviour(referenceBehaviour);
  }
  if (variant !== undefined) {
    const { deviceVariant } = await import('../../defects/device/index.ts');
    return deviceVariant(variant).behaviour(referenceBehaviour);
  }
  return referenceBehaviour;
}

async function uplinkOf({ kind, platform, token, mqtt, dialect }: UplinkSettings, log: Logger) {
  const { createUplink } = await import('../uplink/index.ts');
  const common = { platform, log, ...(dialect ? { dialect } : {}) };
  if (kind === 'polling') return createUplink({ ...common, kind, apiKey: token ?? '' });
  return createUplink({
    ...common,
    kind,
    ...(token === undefined ? {} : { token }),
    ...(mqtt === undefined ? {} : { mqtt }),
  });
}
