/** Config instances: immutable config files, each bound to a slot of its schema and kept byte for byte. */

import type { CreateConfigInstance } from '../../../harness/contract/platform/config-instance.ts';
import type { SupportedVersion } from '../../../harness/contract/versions.ts';
import { timestamp } from '../../common/clock.ts';
import { checkContent } from '../checks.ts';
import type { Core } from '../core.ts';
import { PlatformError } from '../ports.ts';
import type { ConfigInstanceRow } from '../store/rows.ts';
import { slotsOfSchema } from './config-schemas.ts';
import { findRow, insert, invalid } from './find.ts';

/** Returns the content of a config instance. Throws PlatformError 404 for an unknown instance. */
export function contentOf(core: Core, configInstanceId: string): Uint8Array {
  const row = core.store.database
    .prepare('SELECT data FROM config_contents WHERE config_instance_id = ?')
    .get(configInstanceId);
  if (row === undefined) throw new PlatformError(404, 'not_found', `no content is held for ${configInstanceId}`);
  return row['data'] as Uint8Array;
}

/** Stores the content of a config instance; call inside the transaction that creates the instance. */
export function storeContent(core: Core, configInstanceId: string, data: string): void {
  core.store.database
    .prepare('INSERT INTO config_contents (config_instance_id, data) VALUES (?, ?)')
    .run(configInstanceId, Buffer.from(data, 'utf8'));
}

/** Creates a config instance. Throws PlatformError for a format, slot or content that the schema forbids. */
export function createConfigInstance(
  core: Core,
  request: CreateConfigInstance,
  version: SupportedVersion,
): ConfigInstanceRow {
  const { content } = request;
  if (!core.behaviour.acceptsFormat(content.format, version))
    throw invalid('invalid_request', `content.format: ${content.format} is not accepted in ${version}`);
  const { schema, slot } = placeOf(core, request);
  if (core.behaviour.validatesContent) checkContent(content, schema);
  return core.store.write(() => {
    const row = insert(core, 'config_instance', {
      config_schema_id: schema.id,
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

function placeOf(core: Core, { config_schema_id, slot_key }: CreateConfigInstance) {
  const schema = findRow(core, 'config_schema', config_schema_id);
  const slots = slotsOfSchema(schema);
  const keys = slots.map(({ key }) => key);
  const slot = slot_key === undefined && slots.length === 1 ? slots[0] : slots.find(({ key }) => key === slot_key);
  if (slot !== undefined) return { schema, slot };
  const problem = slot_key === undefined ? 'is needed' : `${JSON.stringify(slot_key.slice(0, 128))} is not accepted`;
  throw invalid('invalid_slot', `slot_key: ${problem}; the schema has ${keys.join(', ')}`, { accepted: keys });
}
