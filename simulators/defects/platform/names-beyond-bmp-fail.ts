import type { PlatformDefect } from './types.ts';

export const namesBeyondBmpFail: PlatformDefect = {
  name: 'names-beyond-bmp-fail',
  side: 'platform',
  summary: 'Fails on a character beyond the basic plane.',
  breaks: ['platform.robust.names'],
  behaviour: (right) => ({
    ...right,
    readBody: (bytes, strict) => {
      if (/[\u{10000}-\u{10ffff}]/u.test(bytes.toString())) throw new TypeError('this takes more than three bytes');
      return strict(bytes);
    },
  }),
};
