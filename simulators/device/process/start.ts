/** Starts the device of a process from its settings. Loads only what they ask for, so that a restart is quick. */
import { mkdirSync } from 'node:fs';
import process from 'node:process';
import { type DeviceBehaviour, referenceBehaviour } from '../behaviour.ts';
import { type SimulatedDevice, simulateDevice } from '../index.ts';
import type { Logger } from '../options.ts';
import { startErrorOf } from '../start-error.ts';
import type { ProcessSettings, Ready, UplinkSettings } from './settings.ts';

/** Resolves when the device serves. Rejects as `simulateDevice` does, and when a defect, a variant or an address is unknown. */
export async function startDevice(settings: ProcessSettings, log: Logger): Promise<SimulatedDevice> {
  const { device, uplink } = settings;
  const options = {
    ...device,
    log,
    behaviour: await behaviourOf(settings),
    ...(uplink ? { uplink: await uplinkOf(uplink, log) } : {}),
    // The whole process dies, as a real agent would.
    onCrash: () => process.kill(process.pid, 'SIGKILL'),
  };
  // Made now and not with the first event, so that another simulator finds the directory in use from the beginning.
  try {
    mkdirSync(device.dir, { recursive: true });
  } catch (error) {
    throw startErrorOf('dir', error);
  }
  return simulateDevice(options);
}

/** The ready line: where a device serves. */
export const readyOf = (device: SimulatedDevice): Ready => ({
  ready: true,
  ...device.address,
  ...(device.url === undefined ? {} : { url: device.url }),
  device_id: device.identity.deviceId,
});

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
