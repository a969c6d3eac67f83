import { defect } from '../define-platform.ts';

const PAGE_SIZE = ['platform.list.page-size'];
const HAS_MORE = ['platform.list.has-more'];

export const defects = [
  defect('limit-off-by-one', 'Lowers a limit in range by one.', ['platform.list.in-range'], ({ clampLimit }) => ({
    clampLimit: (values) => Math.max(1, clampLimit(values) - (values.length > 0 && clampLimit(values) < 100 ? 1 : 0)),
  })),
  defect('page-too-long', 'Gives one item more than limit.', PAGE_SIZE, {
    page: ({ limit, offset }, at) => at(offset, limit + 1),
  }),
  defect('page-too-short', 'Gives one item less than limit although there are more.', PAGE_SIZE, ({ page }) => ({
    page: (window, at) => {
      const rows = page(window, at);
      return rows.length === window.limit && rows.length > 1 ? rows.slice(0, -1) : rows;
    },
  })),
  defect('has-more-on-full-page', 'Sets has_more whenever a page is full, even on the last one.', HAS_MORE, {
    hasMore: ({ limit, returned }) => returned === limit,
  }),
  defect('has-more-never', 'Always answers has_more false.', HAS_MORE, { hasMore: () => false }),
  defect(
    'has-more-forgets-offset',
    'Compares limit with the number of all items, whatever the offset.',
    ['platform.list.past-end'],
    { hasMore: ({ limit, total }) => limit < total() },
  ),
];
