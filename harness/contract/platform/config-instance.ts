/** Config instances: immutable contents of configuration files. */
import type { Static, TObject } from 'typebox';
import { exact, oneOf, Timestamp, Type } from '../shape.ts';
import { atLeast, type SupportedVersion } from '../versions.ts';
import { fieldsIn, type Operation, operationsOn, resource } from './operation.ts';

export const INSTANCE_FORMATS = ['json', 'yaml', 'jsonc', 'xml', 'text'] as const;
export type InstanceFormat = (typeof INSTANCE_FORMATS)[number];

/** `yaml` (section 9 of the specification) and `jsonc` came with rainier, `xml` and `text` with everglades. */
export function instanceFormats(version: SupportedVersion): readonly InstanceFormat[] {
  if (atLeast(version, 'everglades')) return INSTANCE_FORMATS;
  return atLeast(version, 'rainier') ? ['json', 'yaml', 'jsonc'] : ['json'];
}

const fields = {
  object: Type.Literal('config_instance'),
  id: Type.String({ pattern: '^cfg_inst_' }),
  config_type_name: Type.String(),
  filepath: Type.String({ description: 'Absolute path of the file on the device' }),
  slot_key: Type.String({ description: 'The slot of its schema that it fills' }),
  created_at: Timestamp,
  config_schema_id: Type.String(),
  config_type_id: Type.String(),
};
export type ConfigInstance = Static<TObject<typeof fields>>;

const contentFields = (version: SupportedVersion) => ({
  format: oneOf(instanceFormats(version)),
  data: Type.String(),
});
export type InstanceContent = Static<TObject<ReturnType<typeof contentFields>>>;

export const configInstanceResource = resource('config_instance', 'cfg_inst_', {
  fields: (version) => fieldsIn(version, fields, { slot_key: 'everglades' }),
  expansions: {
    content: { schema: (version) => Type.Object(contentFields(version)) },
    config_schema: { kind: 'config_schema' },
    config_type: { kind: 'config_type' },
  },
  filters: { id: {}, config_schema_id: {}, config_type_id: {}, slot_key: { since: 'everglades' } },
});

const createBody = (version: SupportedVersion) =>
  exact({
    config_schema_id: Type.String(),
    content: exact(contentFields(version)),
    ...(atLeast(version, 'everglades') && { slot_key: Type.Optional(Type.String()) }),
  });
export interface CreateConfigInstance {
  config_schema_id: string;
  slot_key?: string;
  content: InstanceContent;
}

export const DISPOSITIONS = ['inline', 'attachment'] as const;
const on = operationsOn(configInstanceResource, 'Config Instances');
export const configInstanceOperations: Operation[] = [
  on.list('listConfigInstances', 'List config instances'),
  on.create('createConfigInstance', 'Create a config instance', createBody),
  on.get('getConfigInstance', 'Get a config instance'),
  on.below('getConfigInstanceContent', 'content', 'Download the content of a config instance', {
    method: 'GET',
    scopes: ['config_instances:read'],
    query: { disposition: Type.Optional(oneOf(DISPOSITIONS)) },
    answer: 'binary',
  }),
];
