/** From parsed options to an opened target. */
export type { DeviceTargetOptions, OpenDeviceTarget, OpenPlatformTarget, PlatformTargetOptions } from './open.ts';
export { openDeviceTarget } from './open-device.ts';
export { openPlatformTarget } from './open-platform.ts';
