/** Config types: what kind of configuration there is. Slugs are immutable since everglades (specification section 9, rule 2). */
import Type, { type Static } from 'typebox';
import { Timestamp } from '../shape.ts';
import { atLeast } from '../versions.ts';
import { body, type Operation, printable, type Resource } from './operation.ts';

const fields = {
  object: Type.Literal('config_type'),
  id: Type.String({ pattern: '^cfg_typ_' }),
  name: Type.String(),
  slug: Type.String({ description: 'An immutable name for use in code and paths' }),
  created_at: Timestamp,
  updated_at: Timestamp,
};
const schema = Type.Object(fields);
export type ConfigType = Static<typeof schema>;

export const configTypeResource: Resource = {
  kind: 'config_type',
  name: 'ConfigType',
  collection: 'config_types',
  prefix: 'cfg_typ_',
  fields: () => fields,
  expansions: {},
  filters: { id: {}, name: {}, slug: {} },
  orders: {},
};

const name = printable(128, 'The name of the config type');
const slug = Type.String({ minLength: 1, maxLength: 128, pattern: '^[a-z0-9][a-z0-9_-]*$' });
const createBody = body({ name, slug });
export type CreateConfigType = Static<typeof createBody>;
const updateBody = body({ name: Type.Optional(name) });
const olderUpdateBody = body({ name: Type.Optional(name), slug: Type.Optional(slug) });
export type UpdateConfigType = Static<typeof olderUpdateBody>;

const tag = 'Config Types';
export const configTypeOperations: Operation[] = [
  {
    id: 'listConfigTypes',
    method: 'GET',
    path: '/config_types',
    summary: 'List config types',
    tag,
    scopes: ['config_types:read'],
    kind: 'config_type',
    list: true,
  },
  {
    id: 'createConfigType',
    method: 'POST',
    path: '/config_types',
    summary: 'Create a config type',
    tag,
    scopes: ['config_types:write'],
    kind: 'config_type',
    body: () => createBody,
  },
  {
    id: 'getConfigType',
    method: 'GET',
    path: '/config_types/{config_type_id}',
    summary: 'Get a config type',
    tag,
    scopes: ['config_types:read'],
    kind: 'config_type',
  },
  {
    id: 'updateConfigType',
    method: 'PATCH',
    path: '/config_types/{config_type_id}',
    summary: 'Rename a config type',
    tag,
    scopes: ['config_types:write'],
    kind: 'config_type',
    body: (version) => (atLeast(version, 'everglades') ? updateBody : olderUpdateBody),
  },
];
