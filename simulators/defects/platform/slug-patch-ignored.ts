import type { PlatformDefect } from './types.ts';

export const slugPatchIgnored: PlatformDefect = {
  name: 'slug-patch-ignored',
  side: 'platform',
  summary: 'Answers 200 to a new slug, and keeps the old one.',
  breaks: ['platform.config-type.slug'],
  behaviour: (right) => ({
    ...right,
    slugPatch: () => 'ignore',
    bodyProblems: (operation, value, check) =>
      operation === 'updateConfigType' ? [] : right.bodyProblems(operation, value, check),
  }),
};
