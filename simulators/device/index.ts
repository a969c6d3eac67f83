/**
 * Simulated device, which serves the Device API (sections 2 to 7 and 9 of the specification) on real sockets and files.
 *
 *     await using device = await simulateDevice();
 *     const agent = openDevice({ socket: device.socketPath });
 *     await device.deploy({ config_instances: [{ filepath: '/etc/robot/speed.json', content: '{"max":2}' }] });
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { ownedFolder } from '../../harness/common/owner.ts';
import { SimulatedDevice } from './device.ts';
import type { DeviceOptions } from './options.ts';
import { endpointsOf, transportInFolder } from './transport.ts';

/**
 * Without `dir`, the device has a temporary folder, which disposal removes, and by default a unix socket. Rejects with
 * DirectoryInUseError, StartError, or RangeError for an invalid option.
 */
export async function simulateDevice(options: Partial<DeviceOptions> = {}): Promise<SimulatedDevice> {
  const { dir, ...rest } = options;
  const device = dir === undefined ? new TemporaryDevice(rest) : new SimulatedDevice({ ...rest, dir });
  try {
    await device.start();
    if (options.control) await device.serveControl(options.control);
  } catch (error) {
    await device[Symbol.asyncDispose]();
    throw error;
  }
  return device;
}

class TemporaryDevice extends SimulatedDevice {
  readonly #folder: string;

  constructor(options: Omit<DeviceOptions, 'dir'>) {
    const folder = ownedFolder('device');
    try {
      const somewhere = endpointsOf(options).length > 0 || options.endpoints !== undefined;
      const own = somewhere ? {} : transportInFolder('unix', folder);
      // The default seed would be the folder's path, which is random.
      super({ seed: 1, ...options, dir: join(folder, 'robot'), ...own });
    } catch (error) {
      rmSync(folder, { recursive: true });
      throw error;
    }
    this.#folder = folder;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    try {
      await super[Symbol.asyncDispose]();
    } finally {
      rmSync(this.#folder, { recursive: true, force: true });
    }
  }
}

export { type DeviceBehaviour, referenceBehaviour } from './behaviour.ts';
export type { ControlAddress, ControlServer } from './control/server.ts';
export { ControlError, type ControlTarget } from './control/target.ts';
export { type DeviceStats, SimulatedDevice } from './device.ts';
export { DirectoryInUseError } from './device-directory.ts';
export { FAULTS } from './faults.ts';
export { AgentDownError, EventLogError } from './log/io.ts';
export type { DeviceOptions, Identity, Logger } from './options.ts';
export { StartError } from './options.ts';
export { type ConfigFile, DeployError, type DeploymentPort, type Uplink } from './ports.ts';
