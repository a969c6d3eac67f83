import type { PlatformDefect } from './types.ts';

export const envelopeLimitText: PlatformDefect = {
  name: 'envelope-limit-text',
  side: 'platform',
  summary: 'Echoes limit as text.',
  breaks: ['platform.list.envelope'],
  behaviour: (right) => ({
    ...right,
    envelope: (envelope) => ({ ...envelope, limit: String(envelope['limit']) }),
  }),
};
