import type { PlatformDefect } from './types.ts';

export const platformDefects: readonly PlatformDefect[] = [];
