import { defect } from '../define-platform.ts';

export const defects = [
  defect(
    'total-count-with-any-expansion',
    'Counts whenever anything is expanded.',
    ['platform.list.total-count'],
    ({ totalCount }) => ({
      totalCount: (window) => (window.expanding ? window.total() : totalCount(window)),
    }),
  ),
  defect('total-count-of-page', 'Counts the items of the page.', ['platform.list.total-count'], {
    totalCount: ({ asked, returned }) => (asked ? returned : undefined),
  }),
  defect('total-count-unasked', 'Gives total_count even when nobody asked for it.', ['platform.list.total-count'], {
    totalCount: ({ total }) => total(),
  }),
  defect('total-count-of-the-rest', 'Counts from the offset on.', ['platform.list.total-count'], {
    totalCount: ({ asked, offset, total }) => (asked ? Math.max(0, total() - offset) : undefined),
  }),
  defect('total-count-absent', 'Omits total_count although it was asked for.', ['platform.list.total-count'], {
    totalCount: () => undefined,
  }),
];
