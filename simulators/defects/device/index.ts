import type { DeviceBehaviour } from '../../device/behaviour.ts';
import { type Defect, findByName, loadSections, type Variant } from '../define.ts';

export type DeviceDefect = Defect<DeviceBehaviour>;

export const { defects: deviceDefects, variants: deviceVariants } = await loadSections<DeviceBehaviour>('device');

export const deviceDefect = (name: string): DeviceDefect => findByName('defect of the device', deviceDefects, name);

export const deviceVariant = (name: string): Variant<DeviceBehaviour> =>
  findByName('variant of the device', deviceVariants, name);
