import type { PlatformDefect } from './types.ts';

export const createdUnlisted: PlatformDefect = {
  name: 'created-unlisted',
  side: 'platform',
  summary: 'Lists nothing that is younger than a minute.',
  breaks: ['platform.list.created'],
  behaviour: (right) => ({
    ...right,
    envelope: (envelope) => ({
      ...envelope,
      data: (envelope['data'] as { created_at?: string }[]).filter(
        (item) => !(Date.now() - Date.parse(item.created_at ?? '') < 60_000),
      ),
    }),
  }),
};
