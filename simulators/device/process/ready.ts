import type { SimulatedDevice } from '../device.ts';
import type { Ready } from './messages.ts';

/** Where a device serves, as its ready line says it. */
export const readyOf = (device: SimulatedDevice): Ready => ({
  ready: true,
  ...device.address,
  ...(device.url === undefined ? {} : { url: device.url }),
  device_id: device.identity.deviceId,
});
