/** A platform and a device that is enrolled in it, as a suite of both sides needs them. For tests and the kill matrix. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import { type DeviceBehaviour, simulateDevice } from '../../device/index.ts';
import { createUplink } from '../../device/uplink/index.ts';
import { type PlatformBehaviour, simulatePlatform } from '../index.ts';

/** Small keys, because large ones take long to make. */
const KEY_BITS = 1024;
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

/** The device is online when this resolves. Behaviours default to the reference. */
export async function simulatePair(
  behaviours: { platform?: PlatformBehaviour; device?: DeviceBehaviour } = {},
  seed = 1,
): Promise<SimulatedPair> {
  await using making = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), 'muster-pair-'));
  making.defer(() => rmSync(directory, { recursive: true, force: true }));
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
  const socket = join(directory, 'robot.sock');
  const control = join(directory, 'control.sock');
  const device = making.use(
    await simulateDevice({
      dir: join(directory, 'robot'),
      socket,
      control: { path: control },
      seed,
      ...(behaviours.device && { behaviour: behaviours.device }),
      uplink: createUplink({
        kind: 'agent',
        platform: platform.agentUrl,
        ...(platform.mqttUrl !== undefined && { mqtt: platform.mqttUrl }),
        keyBits: KEY_BITS,
        token: provisioningToken,
      }),
    }),
  );
  const online = async (): Promise<void> => {
    await device.start();
    await device.uplink?.start();
  };
  await online();
  const deviceId = device.uplink?.deviceId;
  if (deviceId === undefined) throw new Error('the device did not enrol');
  const all = making.move();
  return {
    ...{ platformUrl: platform.url, apiKey: API_KEY, socket, control, deviceId },
    ...{ online, offline: () => device.stop() },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
