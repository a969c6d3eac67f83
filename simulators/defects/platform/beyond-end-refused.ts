import { PlatformError } from '../../platform/ports.ts';
import type { PlatformDefect } from './types.ts';

export const beyondEndRefused: PlatformDefect = {
  name: 'beyond-end-refused',
  side: 'platform',
  summary: 'Answers 404 to an offset past the end.',
  breaks: ['platform.list.beyond-end'],
  behaviour: (right) => ({
    ...right,
    page: (window, at) => {
      if (window.offset > window.total()) throw new PlatformError(404, 'no_such_page', 'there is no such page');
      return right.page(window, at);
    },
  }),
};
