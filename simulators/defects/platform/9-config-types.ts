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
  defect(
    'slug-in-capitals-patched',
    'Changes the slug of a config type by the member Slug.',
    ['platform.config-type.slug'],
    ({ bodyProblems, slugPatch }) => {
      let isApplied = false;
      return {
        bodyProblems: (operation, value, check) => {
          const { Slug: slug } = Object(value) as { Slug?: unknown };
          isApplied = operation === 'updateConfigType' && slug !== undefined;
          if (!isApplied) return bodyProblems(operation, value, check);
          (value as { slug?: unknown }).slug = slug;
          return [];
        },
        slugPatch: (version) => (isApplied ? 'apply' : slugPatch(version)),
      };
    },
  ),
];

export const variants = [
  variant('slug-patch-refused-always', 'Refuses a new slug in every version.', { slugPatch: () => 'refuse' }),
];
