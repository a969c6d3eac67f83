import type { PlatformDefect } from './types.ts';

export const slugPatched: PlatformDefect = {
  name: 'slug-patched',
  side: 'platform',
  summary: 'Changes the slug of a config type.',
  breaks: ['platform.config-type.slug'],
  behaviour: (right) => ({
    ...right,
    slugPatch: () => 'apply',
    bodyProblems: (operation, value, check) =>
      operation === 'updateConfigType' ? [] : right.bodyProblems(operation, value, check),
  }),
};
