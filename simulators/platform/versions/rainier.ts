/** From everglades down to rainier: no groups, no slots, no deployment timestamps, no archived devices (section 9). */
import type { InstanceSlot } from '../../../harness/contract/platform/config-schema.ts';
import { type DownStep, drop } from './steps.ts';

export const toRainier: DownStep = {
  to: 'rainier',
  resources: {
    config_schema: (schema) => {
      const slots = schema['instance_slots'] as InstanceSlot[];
      return {
        ...drop(schema, 'instance_slots', 'instance_format'),
        // Older versions know one path a schema: the first slot's.
        instance_filepath: slots[0]?.filepath ?? '',
        // Older versions have no opaque schema; a JSON Schema that accepts everything comes nearest.
        ...(schema['language'] === 'opaque' && { language: 'jsonschema' }),
      };
    },
    config_instance: (instance) => drop(instance, 'slot_key'),
    deployment: (deployment) => drop(deployment, 'parent_id', 'queued_at', 'deployed_at', 'archived_at'),
    device: (device) => ({
      ...drop(device, 'description', 'group_id'),
      ...(device['status'] === 'archived' && {
        status: device['agent_version'] === null ? 'inactive' : 'offline',
      }),
    }),
  },
  content: (content) =>
    content.format === 'xml' || content.format === 'text'
      ? { format: 'json', data: JSON.stringify(content.data) }
      : content,
};

/** The slots that an older request's `instance_filepath` stands for. */
export function slotsOf(filepath: string | undefined): InstanceSlot[] | undefined {
  return filepath === undefined ? undefined : [defaultSlot(filepath)];
}

/** The one slot of a schema that names none. */
export const defaultSlot = (filepath: string): InstanceSlot => ({
  key: 'default',
  name: 'Default',
  filepath,
  required: true,
});
