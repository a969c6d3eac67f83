import type { CreateConfigType, UpdateConfigType } from '../../../harness/contract/platform/config-type.ts';
import type { SupportedVersion } from '../../../harness/contract/versions.ts';
import { timestamp } from '../../common/clock.ts';
import type { Core } from '../core.ts';
import type { ConfigTypeRow } from '../store/rows.ts';
import { conflict, createdNow, find, insert, invalid } from './find.ts';

/** Throws PlatformError 409 when the slug is taken. */
export function createConfigType(core: Core, { name, slug }: CreateConfigType): ConfigTypeRow {
  refuseTakenSlug(core, slug);
  return insert(core, 'config_type', { name, slug, ...createdNow(core) });
}

/** Section 9, rule 2: slugs are immutable since everglades; older versions publish a `slug` here. */
export function updateConfigType(core: Core, id: string, change: UpdateConfigType, version: SupportedVersion) {
  const row = find(core, 'config_type', id);
  const { name, slug } = change;
  const changes: Partial<ConfigTypeRow> = {};
  if (name !== undefined) changes.name = name;
  if (slug !== undefined && slug !== row.slug) {
    const decision = core.behaviour.slugPatch(version);
    if (decision === 'refuse') throw invalid('immutable_field', 'slug: the slug of a config type is immutable');
    if (decision === 'apply') {
      refuseTakenSlug(core, slug);
      changes.slug = slug;
    }
  }
  if (Object.keys(changes).length === 0) return row;
  changes.updated_at = timestamp(core.clock);
  return core.store.write(() => core.store.collections.config_type.update(row, changes));
}

function refuseTakenSlug(core: Core, slug: string): void {
  if (core.behaviour.allowsDuplicates) return;
  if (core.store.collections.config_type.first({ slug }) === undefined) return;
  throw conflict('config_type_exists', `there is a config type with the slug ${JSON.stringify(slug)}`, { slug });
}
