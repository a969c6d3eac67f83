import type { PlatformBehaviour } from '../../platform/behaviour.ts';
import type { PlatformDefect } from './types.ts';

export const hasMoreOfRawOffset: PlatformDefect = {
  name: 'has-more-of-raw-offset',
  side: 'platform',
  summary: 'Computes has_more from the offset that was asked for, however negative.',
  breaks: ['platform.list.clamp.offset'],
  behaviour: (right) => ({
    ...right,
    ...remembering(right),
  }),
};

/** A page is put together without a pause: the offset that was asked for last is its own. */
function remembering(right: PlatformBehaviour): Pick<PlatformBehaviour, 'clampOffset' | 'hasMore'> {
  let asked = 0;
  return {
    clampOffset: (values) => {
      asked = Number(values[0] ?? 0);
      return right.clampOffset(values);
    },
    hasMore: (window) => (asked < 0 ? asked + window.limit < window.total() : right.hasMore(window)),
  };
}
