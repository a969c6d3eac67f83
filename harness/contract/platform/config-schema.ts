/**
 * Config schemas: rules for the instances of a config type, with file paths (section 9, rule 1, of the specification).
 */
import type { Static, TObject } from 'typebox';
import { exact, oneOf, Timestamp, Type } from '../shape.ts';
import { atLeast, type SupportedVersion } from '../versions.ts';
import { INSTANCE_FORMATS } from './config-instance.ts';
import { gitCommitRef } from './git-commit.ts';
import { fieldsIn, type Operation, operationsOn, printable, refTo, resource } from './operation.ts';

export const SCHEMA_LANGUAGES = ['jsonschema', 'cue', 'opaque'] as const;
export const SCHEMA_FORMATS = ['json', 'yaml', 'cue'] as const;

const slotFields = {
  key: Type.String({ pattern: '^[a-z0-9][a-z0-9_-]*$', maxLength: 128 }),
  name: printable(128, 'Name for people'),
  filepath: Type.String({
    minLength: 2,
    maxLength: 1024,
    pattern: '^/[^\\u0000-\\u001f\\u007f]*[^/\\u0000-\\u001f\\u007f]$',
    description: 'Absolute path of the file on the device',
  }),
  required: Type.Boolean({ description: 'Whether every deployment must fill this slot' }),
  description: Type.Optional(Type.String({ maxLength: 1024 })),
};
export const instanceSlot = exact(slotFields);
export type InstanceSlot = Static<typeof instanceSlot>;

export const schemaDocument = Type.Object({ id: Type.String(), name: Type.String(), data: Type.String() });
export type SchemaDocument = Static<typeof schemaDocument>;

const languages = (version: SupportedVersion) =>
  atLeast(version, 'everglades') ? SCHEMA_LANGUAGES : (['jsonschema', 'cue'] as const);

const fields = {
  object: Type.Literal('config_schema'),
  id: Type.String({ pattern: '^cfg_sch_' }),
  digest: Type.String({ description: 'SHA-256 of the documents' }),
  config_type_name: Type.String(),
  instance_slots: Type.Array(Type.Object(slotFields), { minItems: 1 }),
  instance_format: oneOf(INSTANCE_FORMATS),
  created_at: Timestamp,
  updated_at: Timestamp,
  config_type_id: Type.String(),
  language: oneOf(SCHEMA_LANGUAGES),
  format: oneOf(SCHEMA_FORMATS),
};
export type ConfigSchema = Static<TObject<typeof fields>>;

export const configSchemaResource = resource('config_schema', 'cfg_sch_', {
  fields: (version) => ({
    ...fieldsIn(version, fields, { instance_slots: 'everglades', instance_format: 'everglades' }),
    ...(!atLeast(version, 'everglades') && { instance_filepath: Type.String() }),
    language: oneOf(languages(version)),
  }),
  expansions: {
    documents: { schema: () => refTo('SchemaDocument'), many: true },
    config_type: { kind: 'config_type' },
  },
  filters: { id: {}, config_type_id: {} },
});

const common = {
  config_type_ref: exact({ id: Type.Optional(Type.String()), slug: Type.Optional(Type.String()) }),
  language: oneOf(SCHEMA_LANGUAGES),
  format: oneOf(SCHEMA_FORMATS),
  documents: Type.Array(exact({ name: printable(256, 'Name of the document'), data: Type.String() })),
  git_commit: Type.Optional(exact({ commit_ref: gitCommitRef, schema_filepaths: Type.Array(Type.String()) })),
};
const createBody = exact({
  ...common,
  instance_slots: Type.Optional(Type.Array(instanceSlot, { minItems: 1 })),
  instance_format: Type.Optional(oneOf(INSTANCE_FORMATS)),
});
export type CreateConfigSchema = Static<typeof createBody>;
const olderCreateBody = exact({
  ...common,
  language: oneOf(['jsonschema', 'cue'] as const),
  instance_filepath: Type.Optional(slotFields.filepath),
});
export type OlderCreateConfigSchema = Static<typeof olderCreateBody>;

const on = operationsOn(configSchemaResource, 'Config Schemas');
export const configSchemaOperations: Operation[] = [
  on.list('listConfigSchemas', 'List config schemas'),
  on.create('createConfigSchema', 'Create a config schema', (version) =>
    atLeast(version, 'everglades') ? createBody : olderCreateBody,
  ),
  on.get('getConfigSchema', 'Get a config schema'),
];
