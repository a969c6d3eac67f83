import type { DeviceDefect } from './types.ts';

export const deviceDefects: readonly DeviceDefect[] = [];

/** Throws RangeError that names the known ones. */
export function deviceDefect(name: string): DeviceDefect {
  const found = deviceDefects.find((defect) => defect.name === name);
  if (found) return found;
  const known = deviceDefects.map((defect) => defect.name).join(', ');
  throw new RangeError(`no defect of the device is called ${JSON.stringify(name)}; known: ${known}`);
}

export type { DeviceDefect } from './types.ts';
