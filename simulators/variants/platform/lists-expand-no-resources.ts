import { PlatformError } from '../../platform/ports.ts';
import type { PlatformVariant } from './types.ts';

export const listsExpandNoResources: PlatformVariant = {
  name: 'lists-expand-no-resources',
  side: 'platform',
  summary: 'Expands a device that is read by its id, and refuses to where devices are listed.',
  behaviour: (right) => ({
    ...right,
    envelope: (envelope) => {
      const items = envelope['data'] as Record<string, unknown>[];
      if (items.some((item) => 'current_release' in item || 'current_deployment' in item)) {
        throw new PlatformError(400, 'invalid_request', 'expand: lists expand nothing but total_count');
      }
      return envelope;
    },
  }),
};
