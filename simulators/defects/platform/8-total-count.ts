import { defect } from '../define-platform.ts';

const TOTAL_COUNT = ['platform.list.total-count'];

export const defects = [
  defect('total-count-with-any-expansion', 'Counts whenever anything is expanded.', TOTAL_COUNT, ({ totalCount }) => ({
    totalCount: (window) => (window.expanding ? window.total() : totalCount(window)),
  })),
  defect('total-count-of-page', 'Counts the items of the page.', TOTAL_COUNT, {
    totalCount: ({ asked, returned }) => (asked ? returned : undefined),
  }),
  defect('total-count-unasked', 'Gives total_count even when nobody asked for it.', TOTAL_COUNT, {
    totalCount: ({ total }) => total(),
  }),
  defect('total-count-of-the-rest', 'Counts from the offset on.', TOTAL_COUNT, {
    totalCount: ({ asked, offset, total }) => (asked ? Math.max(0, total() - offset) : undefined),
  }),
  defect('total-count-absent', 'Omits total_count although it was asked for.', TOTAL_COUNT, {
    totalCount: () => undefined,
  }),
];
