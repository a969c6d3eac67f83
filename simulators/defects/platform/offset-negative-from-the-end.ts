import type { PlatformBehaviour } from '../../platform/behaviour.ts';
import type { PlatformDefect } from './types.ts';

export const offsetNegativeFromTheEnd: PlatformDefect = {
  name: 'offset-negative-from-the-end',
  side: 'platform',
  summary: 'Counts a negative offset from the end, and echoes 0.',
  breaks: ['platform.list.clamp.offset'],
  behaviour: (right) => ({
    ...right,
    ...negativeFromTheEnd(right),
  }),
};

function negativeFromTheEnd(right: PlatformBehaviour): Pick<PlatformBehaviour, 'clampOffset' | 'page'> {
  let negative = 0;
  return {
    clampOffset: (values) => {
      negative = /^-\d+$/.test(values[0] ?? '') ? Math.max(-1000, Number(values[0])) : 0;
      return right.clampOffset(values);
    },
    page: (window, at) =>
      negative < 0 ? at(Math.max(0, window.total() + negative), window.limit) : right.page(window, at),
  };
}
