/**
 * Library entry `muster-conformance/simulators`: simulated devices and platforms for the development of clients. An
 * error of a class below has a stable `code`, but for RangeError: `MUSTER_START`, `MUSTER_DIRECTORY_IN_USE`,
 * `MUSTER_DATABASE`, `MUSTER_CONFLICT` or `MUSTER_PACKAGE`.
 */
import '../harness/common/node22.ts';
import { expectPlatformPackages } from '../harness/common/platform-packages.ts';
import { deviceOptions, type Planted, platformOptions } from './defects/planted.ts';
import { type DeviceOptions, type SimulatedDevice, simulateDevice as startDevice } from './device/index.ts';
import type { RunningFleet, StartFleetOptions } from './fleet/index.ts';
import type { PlatformOptions, SimulatedPlatform } from './platform/index.ts';

export { defects, type Plantable, type Planted, variants } from './defects/planted.ts';
export type { DeviceOptions, SimulatedDevice } from './device/index.ts';
export type { RunningFleet, StartFleetOptions } from './fleet/index.ts';
export type { PlatformOptions, SimulatedPlatform } from './platform/index.ts';

/**
 * Starts a simulated device; resolves once the device accepts requests. Without `dir`, the device has a temporary
 * folder, which disposal removes, and by default a unix socket (`socketPath`). Rejects with DirectoryInUseError,
 * StartError for an unusable directory or address, RangeError for an invalid option, e.g. an unknown defect, or with
 * ConflictError for defects that exclude each other.
 */
export const simulateDevice = async (options: Partial<DeviceOptions> & Planted = {}): Promise<SimulatedDevice> =>
  startDevice(await deviceOptions(options));

/**
 * Starts a simulated platform; resolves once the platform accepts requests. Rejects with DatabaseError for an unusable
 * database, with the system's error for a taken port, with RangeError for an unknown defect, with ConflictError for
 * defects that exclude each other, and with MissingPackage if an optional package is not installed.
 */
export async function simulatePlatform(options: PlatformOptions & Planted = {}): Promise<SimulatedPlatform> {
  expectPlatformPackages();
  const platform = await import('./platform/index.ts');
  return platform.simulatePlatform(await platformOptions(options));
}

/** Starts a fleet (`StartFleetOptions`); rejects with MissingPackage if an optional package is not installed. */
export async function startFleet(options: StartFleetOptions): Promise<RunningFleet> {
  expectPlatformPackages();
  const fleet = await import('./fleet/index.ts');
  return fleet.startFleet(options);
}
