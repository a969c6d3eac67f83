import type { PlatformBehaviour } from '../../platform/behaviour.ts';
import type { PlatformDefect } from './types.ts';

export const orderUnstable: PlatformDefect = {
  name: 'order-unstable',
  side: 'platform',
  summary: 'Orders items of one moment differently every time.',
  breaks: ['platform.list.stable'],
  behaviour: (right) => ({
    ...right,
    ...everyOtherTimeBackwards(right),
  }),
};

function everyOtherTimeBackwards(right: PlatformBehaviour): Pick<PlatformBehaviour, 'page'> {
  let times = 0;
  return {
    page: (window, at) => {
      times += 1;
      const rows = right.page(window, at);
      return times % 2 === 0 ? rows.toReversed() : rows;
    },
  };
}
