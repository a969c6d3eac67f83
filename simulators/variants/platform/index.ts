import type { PlatformVariant } from './types.ts';

export const platformVariants: readonly PlatformVariant[] = [];
