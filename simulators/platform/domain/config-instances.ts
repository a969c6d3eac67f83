/** Config instances: immutable, each bound to one slot of its schema. */
import type { CreateConfigInstance } from '../../../harness/contract/platform/config-instance.ts';
import type { SupportedVersion } from '../../../harness/contract/versions.ts';
import { timestamp } from '../../common/clock.ts';
import type { Core } from '../core.ts';
import type { ConfigInstanceRow } from '../store/rows.ts';
import { slotsOfSchema } from './config-schemas.ts';
import { storeContent } from './content.ts';
import { find, insert, invalid } from './find.ts';
import { checkContent } from './validation.ts';

/** Throws PlatformError for a format, slot or content that the schema does not allow. */
export function createConfigInstance(
  core: Core,
  { config_schema_id, slot_key, content }: CreateConfigInstance,
  version: SupportedVersion,
): ConfigInstanceRow {
  if (!core.behaviour.acceptsFormat(content.format, version)) {
    throw invalid('invalid_request', `content.format: ${content.format} is not accepted in ${version}`);
  }
  const schema = find(core, 'config_schema', config_schema_id);
  const slots = slotsOfSchema(schema);
  const keys = slots.map(({ key }) => key);
  const slot = slot_key === undefined && slots.length === 1 ? slots[0] : slots.find(({ key }) => key === slot_key);
  if (slot === undefined) {
    const problem = slot_key === undefined ? 'is needed' : `${JSON.stringify(slot_key.slice(0, 128))} is not accepted`;
    throw invalid('invalid_slot', `slot_key: ${problem}; the schema has ${keys.join(', ')}`, { accepted: keys });
  }
  if (core.behaviour.validatesContent) checkContent(schema, content);
  return core.store.write(() => {
    const row = insert(core, 'config_instance', {
      config_schema_id,
      config_type_id: schema.config_type_id,
      slot_key: slot.key,
      filepath: slot.filepath,
      content_format: content.format,
      created_at: timestamp(core.clock),
    });
    storeContent(core, row.id, content.data);
    return row;
  });
}
