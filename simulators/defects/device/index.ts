import type { DeviceBehaviour } from '../../device/behaviour.ts';
import { type Defect, loadSections, named, type Variant } from '../define.ts';

export type DeviceDefect = Defect<DeviceBehaviour>;

export const { defects: deviceDefects, variants: deviceVariants } = await loadSections<DeviceBehaviour>('device');

export const deviceDefect = (name: string): DeviceDefect => named('defect of the device', deviceDefects, name);

export const deviceVariant = (name: string): Variant<DeviceBehaviour> =>
  named('variant of the device', deviceVariants, name);
