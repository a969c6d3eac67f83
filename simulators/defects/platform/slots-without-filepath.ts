import type { PlatformDefect } from './types.ts';

export const slotsWithoutFilepath: PlatformDefect = {
  name: 'slots-without-filepath',
  side: 'platform',
  summary: 'Omits the path of a slot.',
  breaks: ['platform.schema.slots'],
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource) =>
      kind === 'config_schema' && Array.isArray(resource['instance_slots'])
        ? { ...resource, instance_slots: resource['instance_slots'].map(({ filepath: _filepath, ...slot }) => slot) }
        : resource,
  }),
};
