import { answers, defect } from '../define-platform.ts';

export const defects = [
  defect(
    'order-by-time-ignored',
    'Orders by id where that is asked for, and never by time.',
    ['platform.list.filtered'],
    ({ order }) => ({ order: (asked) => order(asked.filter(({ field }) => field !== 'created_at')) }),
  ),
  defect(
    'order-pages-from-the-end',
    'Gives later pages of an order from its end.',
    ['platform.list.filtered'],
    ({ order, page }) => {
      let isOrdered = false;
      return {
        order: (asked) => {
          isOrdered = asked.length > 0;
          return order(asked);
        },
        page: (window, at) => {
          const { offset, limit } = window;
          return isOrdered && offset > 0 ? at(Math.max(0, window.total() - offset - limit), limit) : page(window, at);
        },
      };
    },
  ),
  defect(
    'release-version-other-in-lists',
    'Shows another version of a release in lists than alone.',
    ['platform.resource.same'],
    answers('listReleases', ({ data, ...rest }) => ({
      ...rest,
      data: (data as { version: string }[]).map((release) => ({ ...release, version: `${release.version}-0` })),
    })),
  ),
];
