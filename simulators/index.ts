/** Library entry `muster-conformance/simulators`: faithful servers to develop and test clients against. */
import '../harness/common/node22.ts';

export { type DeviceOptions, type SimulatedDevice, simulateDevice } from './device/index.ts';
export { type RunningFleet, type StartFleetOptions, startFleet } from './fleet/index.ts';
export { type PlatformOptions, type SimulatedPlatform, simulatePlatform } from './platform/index.ts';
