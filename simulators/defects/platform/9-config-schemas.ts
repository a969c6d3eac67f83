import { defect, resources, variant } from '../define-platform.ts';

export const defects = [
  defect(
    'slots-of-previous-schema',
    'Uses the path of the previous schema where slots are omitted.',
    ['platform.schema.slots'],
    { defaultFilepath: ({ derived, previous }) => previous ?? derived },
  ),
  defect('slots-in-rainier', 'Shows instance_slots to clients of older versions.', ['platform.schema.slots'], {
    downStep: (kind) => kind !== 'config_schema',
  }),
  defect(
    'slots-first-only',
    'Shows the first slot of a schema alone.',
    ['platform.schema.slots'],
    resources('config_schema', (schema) =>
      Array.isArray(schema['instance_slots'])
        ? { ...schema, instance_slots: schema['instance_slots'].slice(0, 1) }
        : schema,
    ),
  ),
];

export const variants = [
  variant('lists-show-less', 'Leaves instance_slots out of lists; a single read shows them.', {
    envelope: (envelope) => ({
      ...envelope,
      data: (envelope['data'] as Record<string, unknown>[]).map(({ instance_slots: _slots, ...item }) => item),
    }),
  }),
];
