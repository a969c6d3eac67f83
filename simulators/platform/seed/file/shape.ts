/** A workspace as a user writes it down, by names in place of ids (`fixtures/platform-control.md`). */
import Type, { type Static } from 'typebox';
import { INSTANCE_FORMATS } from '../../../../harness/contract/platform/config-instance.ts';
import { SCHEMA_LANGUAGES } from '../../../../harness/contract/platform/config-schema.ts';
import { oneOf, shape } from '../../../../harness/contract/shape.ts';

const closed = { additionalProperties: false } as const;
const Name = Type.String({ minLength: 1, maxLength: 128 });

/** What the file may ask of a device. `activating` passes by itself. */
export const SEEDED_DEVICE_STATUSES = ['inactive', 'offline', 'online', 'archived'] as const;
/** What the file may ask of a deployment: its status (section 2.2). */
export const SEEDED_STATES = [
  ...(['staged', 'drifted', 'queued', 'deployed', 'removing', 'archived', 'failed', 'retrying'] as const),
];

export const seedFile = shape(
  'SeedFile',
  Type.Object(
    {
      config_types: Type.Optional(Type.Array(Type.Object({ slug: Name, name: Type.Optional(Name) }, closed))),
      config_schemas: Type.Optional(
        Type.Array(
          Type.Object(
            {
              name: Type.String({ minLength: 1, description: 'By which this file refers to it' }),
              config_type: Type.String({ description: 'Slug of its config type' }),
              language: Type.Optional(oneOf(SCHEMA_LANGUAGES)),
              document: Type.Unknown({ description: 'The schema: JSON Schema as YAML, or its text' }),
              filepath: Type.Optional(Type.String({ description: 'Where the device writes it; derived if left out' })),
              instance_format: Type.Optional(oneOf(INSTANCE_FORMATS)),
            },
            closed,
          ),
        ),
      ),
      config_instances: Type.Optional(
        Type.Array(
          Type.Object(
            {
              name: Type.String({ minLength: 1, description: 'By which this file refers to it' }),
              config_schema: Type.String({ description: 'Name of its config schema' }),
              format: Type.Optional(oneOf(INSTANCE_FORMATS)),
              content: Type.Unknown({ description: 'As YAML, sent as JSON; or its text' }),
            },
            closed,
          ),
        ),
      ),
      releases: Type.Optional(
        Type.Array(Type.Object({ version: Name, config_schemas: Type.Array(Type.String()) }, closed)),
      ),
      groups: Type.Optional(
        Type.Array(
          Type.Object(
            { name: Name, parent: Type.Optional(Type.String({ description: 'Name of a group above' })) },
            closed,
          ),
        ),
      ),
      devices: Type.Optional(
        Type.Array(
          Type.Object(
            {
              name: Type.String({ minLength: 1, maxLength: 48 }),
              description: Type.Optional(Type.String()),
              group: Type.Optional(Type.String({ description: 'Name of its group' })),
              status: Type.Optional(oneOf(SEEDED_DEVICE_STATUSES)),
              agent_version: Type.Optional(Type.String()),
            },
            closed,
          ),
        ),
      ),
      deployments: Type.Optional(
        Type.Array(
          Type.Object(
            {
              device: Type.String({ description: 'Name of its device' }),
              release: Type.String({ description: 'Version of its release' }),
              config_instances: Type.Array(Type.String()),
              status: Type.Optional(oneOf(SEEDED_STATES)),
              description: Type.Optional(Type.String()),
            },
            closed,
          ),
        ),
      ),
    },
    { ...closed, description: 'A workspace of the simulated platform (muster simulate platform --seed-file)' },
  ),
);
export type SeedFile = Static<typeof seedFile.schema>;
