/** Loads all defects and variants of the simulated platform. */
import type { PlatformBehaviour } from '../../platform/behaviour.ts';
import { type Defect, loadSections, named } from '../define.ts';

export const { defects: platformDefects, variants: platformVariants } =
  await loadSections<PlatformBehaviour>('platform');

/** Finds a defect by name. Throws RangeError with the known names. */
export const platformDefect = (name: string): Defect<PlatformBehaviour> =>
  named('defect of the platform', platformDefects, name);

/** Defects of the platform that show only with an enrolled device. */
export const { defects: systemDefects } = await loadSections<PlatformBehaviour>('system');
