/**
 * A simulated device: a Device API server (specification sections 2, 3, 4.1, 5, 6, 7, 9) on real sockets and real files.
 *
 *     await using device = await simulateDevice({ dir: '/tmp/robot', socket: '/tmp/robot.sock' });
 *     await device.deploy({ config_instances: [{ filepath: '/etc/robot/speed.json', content: '{"max":2}' }] });
 */
import { SimulatedDevice } from './device.ts';
import type { DeviceOptions } from './options.ts';

/** Starts a device; resolves when it serves. Rejects when its directory (DirectoryInUseError) or a socket cannot be used. */
export async function simulateDevice(options: DeviceOptions): Promise<SimulatedDevice> {
  const device = new SimulatedDevice(options);
  try {
    await device.start();
    if (options.control) await device.serveControl(options.control);
  } catch (error) {
    await device[Symbol.asyncDispose]();
    throw error;
  }
  return device;
}

export { behaviour, type DeviceBehaviour } from './behaviour.ts';
export type { ControlAddress, ControlServer } from './control/server.ts';
export { ControlError, type ControlTarget } from './control/target.ts';
export { type DeviceStats, SimulatedDevice } from './device.ts';
export { FAULTS } from './faults/parse.ts';
export { DirectoryInUseError } from './lock.ts';
export { AgentDownError, EventLogError } from './log/event-log.ts';
export type { DeviceOptions, Identity, Logger } from './options.ts';
export { type ConfigFile, DeployError, type DeploymentPort, type Uplink } from './ports.ts';
