/** All defects and variants of the simulated platform that the platform suite can see. */
import type { PlatformBehaviour } from '../../platform/behaviour.ts';
import { loadSections, named } from '../catalogue.ts';
import type { Defect } from '../define.ts';

export const { defects: platformDefects, variants: platformVariants } =
  await loadSections<PlatformBehaviour>('platform');

/** Throws RangeError that lists the known names. */
export const platformDefect = (name: string): Defect<PlatformBehaviour> =>
  named('defect of the platform', platformDefects, name);
