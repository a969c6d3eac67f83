import type { PlatformVariant } from './types.ts';

export const nonsenseReadLeniently: PlatformVariant = {
  name: 'nonsense-read-leniently',
  side: 'platform',
  summary: 'Reads the integer that a limit or offset begins with, and the last of several.',
  behaviour: (right) => ({
    ...right,
    clampLimit: (values) => right.clampLimit(leading(values)),
    clampOffset: (values) => right.clampOffset(leading(values)),
  }),
};

const leading = (values: readonly string[]): string[] => [/^\s*\+?(-?\d+)/.exec(values.at(-1) ?? '')?.[1] ?? ''];
