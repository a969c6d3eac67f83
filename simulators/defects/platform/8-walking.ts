import { PlatformError } from '../../platform/ports.ts';
import { defect, variant } from '../define-platform.ts';

const IN_RANGE = ['platform.list.in-range'];

export const defects = [
  defect('pages-skip-with-limit-33', 'Skips an item between two pages of 33.', ['platform.list.walk-once'], {
    page: ({ limit, offset }, at) => at(limit === 33 && offset > 0 ? offset + 1 : offset, limit),
  }),
  defect('pages-overlap', 'Begins every page but the first with the last item of the one before.', IN_RANGE, {
    page: ({ limit, offset }, at) => at(Math.max(0, offset - 1), limit),
  }),
  defect('pages-skip', 'Leaves out an item between two pages.', IN_RANGE, {
    page: ({ limit, offset }, at) => at(offset === 0 ? 0 : offset + 1, limit),
  }),
  defect('offset-in-pages', 'Treats offset as a number of pages.', IN_RANGE, {
    page: ({ limit, offset }, at) => at(offset * limit, limit),
  }),
  defect('offset-ignored', 'Always gives the first page.', IN_RANGE, { page: ({ limit }, at) => at(0, limit) }),
  defect(
    'order-unstable',
    'Orders items of one moment differently every time.',
    ['platform.list.stable'],
    ({ page }) => {
      let times = 0;
      return {
        page: (window, at) => {
          times += 1;
          const rows = page(window, at);
          return times % 2 === 0 ? rows.toReversed() : rows;
        },
      };
    },
  ),
  defect('beyond-end-last-page', 'Gives the last page for an offset past the end.', ['platform.list.past-end'], {
    page: ({ limit, offset, total }, at) => at(offset < total() ? offset : Math.max(0, total() - limit), limit),
  }),
  defect('beyond-end-refused', 'Answers 404 to an offset past the end.', ['platform.list.past-end'], ({ page }) => ({
    page: (window, at) => {
      if (window.offset > window.total()) throw new PlatformError(404, 'no_such_page', 'there is no such page');
      return page(window, at);
    },
  })),
];

export const variants = [
  variant('oldest-first', 'Lists the oldest items first by default.', ({ order }) => ({
    order: (asked) => order(asked.length > 0 ? asked : [{ field: 'created_at', descending: false }]),
  })),
  variant('by-id', 'Lists items by id by default.', ({ order }) => ({
    order: (asked) => order(asked.length > 0 ? asked : [{ field: 'id', descending: false }]),
  })),
  variant(
    'order-depends-on-limit',
    'Orders items of one moment differently for every limit, as section 8 walks with the same one.',
    {
      page: ({ limit, offset, total }, at) => {
        const rotation = Math.min(limit, 7) % Math.max(1, total());
        const all = at(0, total());
        return [...all.slice(rotation), ...all.slice(0, rotation)].slice(offset, offset + limit);
      },
    },
  ),
  variant(
    'past-end-clamped',
    'Clamps an offset past the end to the last item, and says so: section 8 names no largest offset.',
    ({ page, envelope }) => {
      let effective: number | undefined;
      return {
        page: (window, at) => {
          const last = Math.max(0, window.total() - 1);
          effective = window.offset > last ? last : undefined;
          return page({ ...window, offset: effective ?? window.offset }, at);
        },
        envelope: (given) => {
          const shown = envelope?.(given) ?? given;
          return effective === undefined ? shown : { ...shown, offset: effective };
        },
      };
    },
  ),
];
