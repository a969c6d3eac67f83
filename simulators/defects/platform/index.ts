/** All defects and variants of the simulated platform. */
import type { PlatformBehaviour } from '../../platform/behaviour.ts';
import { loadSections, named } from '../catalogue.ts';
import type { Defect } from '../define.ts';

export const { defects: platformDefects, variants: platformVariants } =
  await loadSections<PlatformBehaviour>('platform');

/** Throws RangeError with the known names. */
export const platformDefect = (name: string): Defect<PlatformBehaviour> =>
  named('defect of the platform', platformDefects, name);

/** Defects that show only once a device is enrolled in the platform. */
export const { defects: systemDefects } = await loadSections<PlatformBehaviour>('system');
