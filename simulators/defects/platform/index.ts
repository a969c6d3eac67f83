import type { PlatformBehaviour } from '../../platform/behaviour.ts';
import { type Defect, findByName, loadSections } from '../define.ts';

export const { defects: platformDefects, variants: platformVariants } =
  await loadSections<PlatformBehaviour>('platform');

export const platformDefect = (name: string): Defect<PlatformBehaviour> =>
  findByName('defect of the platform', platformDefects, name);

/** These defects show only with an enrolled device. */
export const { defects: systemDefects } = await loadSections<PlatformBehaviour>('system');
