import type { PlatformVariant } from './types.ts';

export const fieldsBeyondThePublished: PlatformVariant = {
  name: 'fields-beyond-the-published',
  side: 'platform',
  summary: 'Has fields of its own in lists and resources.',
  behaviour: (right) => ({
    ...right,
    envelope: (envelope) => ({ ...envelope, next_offset: Number(envelope['offset']) + Number(envelope['limit']) }),
    resource: (_kind, resource) => ({ ...resource, labels: { region: 'eu' }, revision: 3 }),
  }),
};
