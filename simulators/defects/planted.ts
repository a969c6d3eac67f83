/** Defects and variants by name, for a program that starts simulators. */

import { dialectBehaviour } from '../device/dialect.ts';
import type { DeviceOptions } from '../device/index.ts';
import type { PlatformOptions } from '../platform/index.ts';
import { referenceBehaviour } from '../platform/reference.ts';
import { named } from './catalogue.ts';
import { combined, type Variant } from './define.ts';

/** Names of `defects` and `variants` for a simulator. */
export interface Planted {
  /** Breaks of the specification. */
  defect?: string | readonly string[];
  /** Choices where the specification leaves one. */
  variant?: string | readonly string[];
}

export interface Plantable {
  readonly name: string;
  /** Difference in one sentence. */
  readonly summary: string;
  /** Ids of the requirements that a defect breaks (`muster explain ID`). */
  readonly breaks: readonly string[];
}

type Named = Pick<Variant<never>, 'name' | 'summary'> & { readonly breaks?: readonly string[] };

const listed = (all: readonly Named[]): Plantable[] =>
  all.map(({ name, summary, breaks = [] }) => ({ name, summary, breaks: [...breaks] }));

const catalogueOf = async (api: 'device' | 'platform') => {
  if (api === 'device') {
    const { deviceDefects, deviceVariants } = await import('./device/index.ts');
    return { defects: listed(deviceDefects), variants: listed(deviceVariants) };
  }
  const { platformDefects, platformVariants } = await import('./platform/index.ts');
  return { defects: listed(platformDefects), variants: listed(platformVariants) };
};

/** Every known defect of a simulator, which tests of a client should find. */
export const defects = async (api: 'device' | 'platform'): Promise<readonly Plantable[]> =>
  (await catalogueOf(api)).defects;

/** Every legal choice of a simulator, which tests of a client should accept. */
export const variants = async (api: 'device' | 'platform'): Promise<readonly Plantable[]> =>
  (await catalogueOf(api)).variants;

const names = (given: string | readonly string[] = []): string[] => [...new Set([given].flat())];

/** Throws RangeError with the known names, and ConflictError for two that exclude each other. */
function planted<B>(
  { defect, variant }: Planted,
  api: string,
  known: { defects: readonly Variant<B>[]; variants: readonly Variant<B>[] },
  base: B,
): B {
  const all = [
    ...names(defect).map((name) => named(`defect of the ${api}`, known.defects, name)),
    ...names(variant).map((name) => named(`variant of the ${api}`, known.variants, name)),
  ];
  return combined(all, base);
}

/** Replaces the names in the options by the behaviour that they mean. Rejects as `planted` throws. */
export async function deviceOptions(given: Partial<DeviceOptions> & Planted): Promise<Partial<DeviceOptions>> {
  const { defect, variant, ...options } = given;
  if (defect === undefined && variant === undefined) return options;
  const { deviceDefects, deviceVariants } = await import('./device/index.ts');
  const base = options.behaviour ?? dialectBehaviour(options.dialect ?? 'spec');
  const known = { defects: deviceDefects, variants: deviceVariants };
  return { ...options, behaviour: planted(given, 'device', known, base) };
}

/** Does for a platform what `deviceOptions` does for a device. */
export async function platformOptions(given: PlatformOptions & Planted): Promise<PlatformOptions> {
  const { defect, variant, ...options } = given;
  if (defect === undefined && variant === undefined) return options;
  const { platformDefects, platformVariants } = await import('./platform/index.ts');
  const known = { defects: platformDefects, variants: platformVariants };
  return { ...options, behaviour: planted(given, 'platform', known, options.behaviour ?? referenceBehaviour) };
}
