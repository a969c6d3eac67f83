/** Defects of the simulated platform that show only when a device is enrolled in it. */
import type { PlatformBehaviour } from '../../platform/behaviour.ts';
import { loadSections } from '../catalogue.ts';

export const { defects: systemDefects } = await loadSections<PlatformBehaviour>('system');
