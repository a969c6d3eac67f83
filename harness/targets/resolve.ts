/** From parsed options to an opened target. */
export { openDeviceTarget } from './open-device.ts';
export { openPlatformTarget } from './open-platform.ts';
