import { answers, defect } from '../define-platform.ts';

export const defects = [
  defect(
    'order-by-time-ignored',
    'Orders by id where that is asked for, and never by time.',
    ['platform.list.filtered'],
    ({ order }) => ({ order: (asked) => order(asked.filter(({ field }) => field !== 'created_at')) }),
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
