import { defect, unchecked, variant } from '../define-platform.ts';

export const defects = [
  defect('slug-patched', 'Changes the slug of a config type.', ['platform.config-type.slug'], (reference) => ({
    slugPatch: () => 'apply',
    ...unchecked('updateConfigType')(reference),
  })),
  defect(
    'slug-patch-ignored',
    'Answers 200 to a new slug, and keeps the old one.',
    ['platform.config-type.slug'],
    (reference) => ({ slugPatch: () => 'ignore', ...unchecked('updateConfigType')(reference) }),
  ),
];

export const variants = [
  variant('slug-patch-refused-always', 'Refuses a new slug in every version.', { slugPatch: () => 'refuse' }),
];
