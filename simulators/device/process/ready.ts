import type { SimulatedDevice } from '../device.ts';
import type { DeviceOptions } from '../options.ts';
import type { Ready } from './messages.ts';

/** Where a device serves, as its ready line says it. */
export function readyOf(device: SimulatedDevice, options: Pick<DeviceOptions, 'loopback'>): Ready {
  return {
    ready: true,
    ...(device.socketPath === undefined ? {} : { socket: device.socketPath }),
    ...(options.loopback ? { discovery: options.loopback.discovery } : {}),
    ...(device.url === undefined ? {} : { url: device.url }),
    device_id: device.identity.deviceId,
  };
}
