import type { DeviceBehaviour } from '../device/behaviour.ts';
import { dialectBehaviour } from '../device/dialect.ts';
import type { DeviceOptions } from '../device/index.ts';
import type { PlatformBehaviour } from '../platform/behaviour.ts';
import type { PlatformOptions } from '../platform/index.ts';
import { referenceBehaviour } from '../platform/reference.ts';
import { combined, findByName, loadSections, type Variant } from './define.ts';

export interface Planted {
  /** Names of defects, which violate the specification. */
  defect?: string | readonly string[];
  /** Names of variants, which the specification allows. */
  variant?: string | readonly string[];
}

export interface Plantable {
  readonly name: string;
  /** One sentence on how the behaviour differs from the reference. */
  readonly summary: string;
  /** Ids of the requirements that a defect breaks (`muster explain ID`). */
  readonly breaks: readonly string[];
}

type Named = Pick<Variant<never>, 'name' | 'summary'> & { readonly breaks?: readonly string[] };

const listed = (all: readonly Named[]): Plantable[] =>
  all.map(({ name, summary, breaks = [] }) => ({ name, summary, breaks: [...breaks] }));

const CATALOGUES = {
  device: () => loadSections<DeviceBehaviour>('device'),
  platform: () => loadSections<PlatformBehaviour>('platform'),
};

/** Lists all defects of a simulator; the tests of a client should detect each defect. */
export const defects = async (api: 'device' | 'platform'): Promise<readonly Plantable[]> =>
  listed((await CATALOGUES[api]()).defects);

/** Lists all variants of a simulator; the tests of a client should accept each variant. */
export const variants = async (api: 'device' | 'platform'): Promise<readonly Plantable[]> =>
  listed((await CATALOGUES[api]()).variants);

const names = (given: string | readonly string[] = []): string[] => [...new Set([given].flat())];

function planted<B>(
  { defect, variant }: Planted,
  api: string,
  known: { defects: readonly Variant<B>[]; variants: readonly Variant<B>[] },
  base: B,
): B {
  const all = [
    ...names(defect).map((name) => findByName(`defect of the ${api}`, known.defects, name)),
    ...names(variant).map((name) => findByName(`variant of the ${api}`, known.variants, name)),
  ];
  return combined(all, base);
}

/** Rejects with RangeError for an unknown name, and with ConflictError for names that exclude each other. */
export async function deviceOptions(given: Partial<DeviceOptions> & Planted): Promise<Partial<DeviceOptions>> {
  const { defect, variant, ...options } = given;
  if (defect === undefined && variant === undefined) return options;
  const base = options.behaviour ?? dialectBehaviour(options.dialect ?? 'spec');
  return { ...options, behaviour: planted(given, 'device', await CATALOGUES.device(), base) };
}

/** Rejects with RangeError for an unknown name, and with ConflictError for names that exclude each other. */
export async function platformOptions(given: PlatformOptions & Planted): Promise<PlatformOptions> {
  const { defect, variant, ...options } = given;
  if (defect === undefined && variant === undefined) return options;
  const base = options.behaviour ?? referenceBehaviour;
  return { ...options, behaviour: planted(given, 'platform', await CATALOGUES.platform(), base) };
}
