/** A platform and a device that is enrolled in it, as a suite of both sides needs them. For tests and the matrix. */
import { join } from 'node:path';
import { NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import { scratch } from '../../common/testing/scratch.ts';
import { type DeviceBehaviour, type DeviceOptions, type SimulatedDevice, simulateDevice } from '../../device/index.ts';
import { type AgentHabits, type AgentUplinkOptions, createUplink } from '../../device/uplink/index.ts';
import { type PlatformBehaviour, simulatePlatform } from '../index.ts';

/** Small keys, because large ones take long to make. */
export const KEY_BITS = 1024;
const API_KEY = 'key_full_0123456789abcdefghij';

export interface SimulatedPair extends AsyncDisposable {
  platformUrl: string;
  apiKey: string;
  /** Of the Device API, and of the device's control API. */
  socket: string;
  control: string;
  /** The platform's id of the device. */
  deviceId: string;
  /** Stops or starts the device; resolves when the platform shows it offline or online. */
  offline(): Promise<void>;
  online(): Promise<void>;
}

/** Starts a device with its files in `directory`, and enrols it; rejects when that fails. */
export async function enrolDevice(
  directory: string,
  { mqtt, ...uplink }: Omit<AgentUplinkOptions, 'kind' | 'mqtt'> & { mqtt: string | undefined },
  options: Partial<DeviceOptions> = {},
): Promise<SimulatedDevice & { deviceId: string }> {
  await using making = new AsyncDisposableStack();
  const device = making.use(
    await simulateDevice({
      dir: join(directory, 'robot'),
      socket: join(directory, 'robot.sock'),
      ...options,
      uplink: createUplink({ kind: 'agent', keyBits: KEY_BITS, ...(mqtt !== undefined && { mqtt }), ...uplink }),
    }),
  );
  await device.uplink?.start();
  const deviceId = device.uplink?.deviceId;
  if (deviceId === undefined) throw new Error('the device did not enrol');
  making.move();
  return Object.assign(device, { deviceId });
}

/** The device is online when this resolves. Behaviours default to the reference. */
export async function simulatePair(
  behaviours: { platform?: PlatformBehaviour; device?: DeviceBehaviour; habits?: AgentHabits } = {},
  seed = 1,
): Promise<SimulatedPair> {
  await using making = new AsyncDisposableStack();
  const directory = making.use(scratch()).path;
  const platform = making.use(
    await simulatePlatform({
      seed,
      minKeyBits: KEY_BITS,
      keys: [{ key: API_KEY, name: 'full', scopes: 'all' }],
      ...(behaviours.platform && { behaviour: behaviours.platform }),
    }),
  );
  const provisioningToken = async (): Promise<string> => {
    const headers = { 'x-api-key': API_KEY, 'service-version': NEWEST_VERSION };
    const response = await fetch(`${platform.url}/provisioning_tokens`, { method: 'POST', headers });
    return ((await response.json()) as { token: string }).token;
  };
  const [socket, control] = ['robot.sock', 'control.sock'].map((name) => join(directory, name)) as [string, string];
  const device = making.use(
    await enrolDevice(
      directory,
      {
        ...{ platform: platform.agentUrl, mqtt: platform.mqttUrl, token: provisioningToken },
        ...(behaviours.habits && { habits: behaviours.habits }),
      },
      { socket, control: { path: control }, seed, ...(behaviours.device && { behaviour: behaviours.device }) },
    ),
  );
  const { deviceId } = device;
  const online = async (): Promise<void> => {
    await device.start();
    await device.uplink?.start();
  };
  const all = making.move();
  return {
    ...{ platformUrl: platform.url, apiKey: API_KEY, socket, control, deviceId },
    ...{ online, offline: () => device.stop() },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
