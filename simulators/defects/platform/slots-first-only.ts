import type { PlatformDefect } from './types.ts';

export const slotsFirstOnly: PlatformDefect = {
  name: 'slots-first-only',
  side: 'platform',
  summary: 'Shows the first slot of a schema alone.',
  breaks: ['platform.schema.slots'],
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource) =>
      kind === 'config_schema' && Array.isArray(resource['instance_slots'])
        ? { ...resource, instance_slots: resource['instance_slots'].slice(0, 1) }
        : resource,
  }),
};
