import type { DeviceVariant } from './types.ts';

export const deviceVariants: readonly DeviceVariant[] = [];

/** Throws RangeError that names the known ones. */
export function deviceVariant(name: string): DeviceVariant {
  const found = deviceVariants.find((variant) => variant.name === name);
  if (found) return found;
  const known = deviceVariants.map((variant) => variant.name).join(', ');
  throw new RangeError(`no variant of the device is called ${JSON.stringify(name)}; known: ${known}`);
}

export type { DeviceVariant } from './types.ts';
