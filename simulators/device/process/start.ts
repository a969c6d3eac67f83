/** Start of an agent process, which loads modules only when needed, so that an agent restarts quickly. */

import { mkdirSync } from 'node:fs';
import process from 'node:process';
import { defined } from '../../../harness/common/defined.ts';
import type { ControlInfo } from '../../../harness/contract/control.ts';
import type { Dialect } from '../../../harness/contract/versions.ts';
import type { AgentCall } from '../control/target.ts';
import { dialectBehaviour } from '../dialect.ts';
import { type SimulatedDevice, simulateDevice } from '../index.ts';
import { type DeviceOptions, type Logger, startErrorOf } from '../options.ts';
import type { Seen } from '../ports.ts';

export interface ProcessSettings {
  device: Omit<DeviceOptions, 'endpoints' | 'control' | 'behaviour' | 'onCrash' | 'clock' | 'log' | 'watch' | 'uplink'>;
  defects?: readonly string[];
  variants?: readonly string[];
  uplink?: UplinkSettings;
  watched?: boolean;
  logLevel: string;
}

export interface UplinkSettings {
  kind: 'agent' | 'polling';
  platform: string;
  /** Provisioning token of the uplink `agent`, or API key of the uplink `polling`. */
  token?: string;
  mqtt?: string;
  dialect?: Dialect;
}

export interface Call {
  id: number;
  name: AgentCall;
  given: never;
}

export interface Ready {
  ready: true;
  device_id: string;
  [address: string]: string | true;
}

export type Reply =
  | { kind: 'loaded' }
  | { kind: 'ready'; ready: Ready; info: ControlInfo }
  | { kind: 'seen'; seen: Seen }
  | { kind: 'broken'; message: string; option?: string }
  | { kind: 'result'; id: number; value: unknown }
  | { kind: 'error'; id: number; status: number; code: string; message: string };

/** Rejects like `simulateDevice`, and for an unknown defect or variant or an invalid address. */
export async function startDevice(settings: ProcessSettings, log: Logger, watch?: (seen: Seen) => void) {
  const { device, uplink, defects = [], variants = [] } = settings;
  let behaviour = dialectBehaviour(device.dialect ?? 'spec');
  if (defects.length + variants.length > 0) {
    const { deviceDefect, deviceVariant } = await import('../../defects/device/index.ts');
    const { combined } = await import('../../defects/define.ts');
    behaviour = combined([...defects.map(deviceDefect), ...variants.map(deviceVariant)], behaviour);
  }
  const options = {
    ...device,
    log,
    behaviour,
    ...(watch !== undefined && { watch }),
    ...(uplink ? { uplink: await uplinkOf(uplink, log) } : {}),
    onCrash: () => process.kill(process.pid, 'SIGKILL'),
  };
  // Creates the directory, because the agent locks only an existing directory at its start.
  try {
    mkdirSync(device.dir, { recursive: true });
  } catch (error) {
    throw startErrorOf('dir', error);
  }
  return simulateDevice(options);
}

/** Addresses and id of a started device; waits at most five seconds for the id from the platform. */
export async function readyOf(device: SimulatedDevice, stopped: Promise<unknown>): Promise<Ready> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, 5_000);
  await Promise.race([device.uplink?.firstAttempt, late.promise, stopped]);
  clearTimeout(timer);
  return {
    ready: true,
    ...device.address,
    ...defined({ url: device.url }),
    device_id: device.uplink?.deviceId ?? device.identity.deviceId,
  };
}

async function uplinkOf({ kind, platform, token, mqtt, dialect }: UplinkSettings, log: Logger) {
  const { createUplink } = await import('../uplink/index.ts');
  const common = { platform, log, ...defined({ dialect }) };
  if (kind === 'polling') return createUplink({ ...common, kind, apiKey: token ?? '' });
  return createUplink({ ...common, kind, ...defined({ token, mqtt }) });
}
