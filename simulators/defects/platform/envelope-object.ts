import type { PlatformDefect } from './types.ts';

export const envelopeObject: PlatformDefect = {
  name: 'envelope-object',
  side: 'platform',
  summary: 'Names its lists `page`.',
  breaks: ['platform.list.envelope'],
  behaviour: (right) => ({
    ...right,
    envelope: (envelope) => ({ ...envelope, object: 'page' }),
  }),
};
