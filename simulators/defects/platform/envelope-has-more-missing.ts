import type { PlatformDefect } from './types.ts';

export const envelopeHasMoreMissing: PlatformDefect = {
  name: 'envelope-has-more-missing',
  side: 'platform',
  summary: 'Omits has_more on the last page.',
  breaks: ['platform.list.envelope'],
  behaviour: (right) => ({
    ...right,
    envelope: ({ has_more, ...envelope }) => (has_more === true ? { ...envelope, has_more } : envelope),
  }),
};
