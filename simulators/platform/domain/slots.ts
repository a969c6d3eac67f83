/** A deployment fills each required slot of its release exactly once, and no slot twice. */
import type { Core } from '../core.ts';
import type { ConfigInstanceRow, ReleaseRow } from '../store/rows.ts';
import { slotsOfSchema } from './config-schemas.ts';
import { find, invalid } from './find.ts';

/** Throws PlatformError 400. */
export function checkInstances(core: Core, release: ReleaseRow, instances: readonly ConfigInstanceRow[]): void {
  const schemaIds = JSON.parse(release.config_schema_ids) as string[];
  const filled = new Set<string>();
  for (const instance of instances) {
    if (!schemaIds.includes(instance.config_schema_id)) {
      throw invalid(
        'invalid_config_instances',
        `config_instance_ids: ${instance.id} is of a schema that the release lacks`,
        {
          config_instance_id: instance.id,
        },
      );
    }
    const slot = `${instance.config_schema_id} ${instance.slot_key}`;
    if (filled.has(slot)) {
      throw invalid('invalid_config_instances', `config_instance_ids: the slot ${slot} is filled twice`, {
        config_schema_id: instance.config_schema_id,
        slot_key: instance.slot_key,
      });
    }
    filled.add(slot);
  }
  for (const id of schemaIds) {
    const missing = slotsOfSchema(find(core, 'config_schema', id)).find(
      ({ key, required }) => required && !filled.has(`${id} ${key}`),
    );
    if (missing === undefined) continue;
    throw invalid('invalid_config_instances', `config_instance_ids: the required slot ${id} ${missing.key} is empty`, {
      config_schema_id: id,
      slot_key: missing.key,
    });
  }
}
