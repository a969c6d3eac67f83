import type { PlatformDefect } from './types.ts';

export const bodiesHalfRead: PlatformDefect = {
  name: 'bodies-half-read',
  side: 'platform',
  summary: 'Takes what it can from a body: the last of two equal names, whatever bytes are no UTF-8.',
  breaks: ['platform.robust.bodies'],
  behaviour: (right) => ({
    ...right,
    readBody: (bytes, strict) => {
      try {
        return JSON.parse(bytes.toString('utf8'));
      } catch {
        return strict(bytes);
      }
    },
  }),
};
