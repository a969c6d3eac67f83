/**
 * A simulated device: a Device API server (specification sections 2, 3, 4.1, 5, 6, 7, 9) on real sockets and real files.
 *
 *     await using device = await simulateDevice();
 *     const agent = openDevice({ socket: device.socketPath });
 *     await device.deploy({ config_instances: [{ filepath: '/etc/robot/speed.json', content: '{"max":2}' }] });
 */
import { SimulatedDevice } from './device.ts';
import type { DeviceOptions } from './options.ts';
import { TemporaryDevice } from './temporary.ts';

/**
 * Starts a device; resolves when it serves. Without `dir` it lives in a temporary folder that is removed when the device is
 * disposed of, and without `socket` and `loopback` as well it serves on a unix socket there (`socketPath`).
 *
 * Rejects when its directory (DirectoryInUseError, StartError) or a socket (StartError) cannot be used.
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

export { type DeviceBehaviour, referenceBehaviour } from './behaviour.ts';
export type { ControlAddress, ControlServer } from './control/server.ts';
export { ControlError, type ControlTarget } from './control/target.ts';
export { type DeviceStats, SimulatedDevice } from './device.ts';
export { FAULTS } from './faults/parse.ts';
export { DirectoryInUseError } from './lock.ts';
export { AgentDownError, EventLogError } from './log/event-log.ts';
export type { DeviceOptions, Identity, Logger } from './options.ts';
export { type ConfigFile, DeployError, type DeploymentPort, type Uplink } from './ports.ts';
export { type PlaceOption, StartError } from './start-error.ts';
