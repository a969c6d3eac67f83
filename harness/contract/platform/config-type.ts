/**
 * Config types: kinds of configuration. Slugs are immutable since everglades (section 9, rule 2, of the specification).
 */
import type { Static, TObject } from 'typebox';
import { exact, Timestamp, Type } from '../shape.ts';
import { atLeast } from '../versions.ts';
import { type Operation, operationsOn, printable, resource } from './operation.ts';

const fields = {
  object: Type.Literal('config_type'),
  id: Type.String({ pattern: '^cfg_typ_' }),
  name: Type.String(),
  slug: Type.String({ description: 'An immutable name for use in code and paths' }),
  created_at: Timestamp,
  updated_at: Timestamp,
};
export type ConfigType = Static<TObject<typeof fields>>;

export const configTypeResource = resource('config_type', 'cfg_typ_', {
  fields: () => fields,
  filters: { id: {}, name: {}, slug: {} },
});

const name = printable(128, 'The name of the config type');
const slug = Type.String({ minLength: 1, maxLength: 128, pattern: '^[a-z0-9][a-z0-9_-]*$' });
const createBody = exact({ name, slug });
export type CreateConfigType = Static<typeof createBody>;
const updateBody = exact({ name: Type.Optional(name) });
const olderUpdateBody = exact({ name: Type.Optional(name), slug: Type.Optional(slug) });
export type UpdateConfigType = Static<typeof olderUpdateBody>;

const on = operationsOn(configTypeResource, 'Config Types');
export const configTypeOperations: Operation[] = [
  on.list('listConfigTypes', 'List config types'),
  on.create('createConfigType', 'Create a config type', () => createBody),
  on.get('getConfigType', 'Get a config type'),
  on.update('updateConfigType', 'Rename a config type', (version) =>
    atLeast(version, 'everglades') ? updateBody : olderUpdateBody,
  ),
];
