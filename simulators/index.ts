/** Library entry `muster-conformance/simulators`: faithful servers to develop and test clients against. */
import '../harness/common/node22.ts';
import { deviceOptions, type Planted, platformOptions } from './defects/planted.ts';
import { type DeviceOptions, type SimulatedDevice, simulateDevice as startDevice } from './device/index.ts';
import { type PlatformOptions, type SimulatedPlatform, simulatePlatform as startPlatform } from './platform/index.ts';

export { defects, type Plantable, type Planted, variants } from './defects/planted.ts';
export type { DeviceOptions, SimulatedDevice } from './device/index.ts';
export { type RunningFleet, type StartFleetOptions, startFleet } from './fleet/index.ts';
export type { PlatformOptions, SimulatedPlatform } from './platform/index.ts';

/**
 * Starts a device; resolves when it serves. Without `dir` it uses a temporary folder, which is removed when the device
 * is disposed of; if the options name no transport either, it serves on a unix socket there (`socketPath`).
 *
 * Rejects when its directory (DirectoryInUseError, StartError) or an address (StartError) cannot be used, and with
 * RangeError for a senseless option, such as an unknown defect.
 */
export const simulateDevice = async (options: Partial<DeviceOptions> & Planted = {}): Promise<SimulatedDevice> =>
  startDevice(await deviceOptions(options));

/**
 * Starts a platform; resolves when it serves. Rejects when a port is taken or the database cannot be opened, and with
 * RangeError for an unknown defect.
 */
export const simulatePlatform = async (options: PlatformOptions & Planted = {}): Promise<SimulatedPlatform> =>
  startPlatform(await platformOptions(options));
