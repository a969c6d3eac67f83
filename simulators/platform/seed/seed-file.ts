import type { Static, TProperties } from 'typebox';
import { isNode } from 'yaml';
import { parseYaml, type Yaml, YamlError } from '../../../harness/common/yaml.ts';
import { DEPLOYMENT_STATUSES } from '../../../harness/contract/enums.ts';
import { INSTANCE_FORMATS } from '../../../harness/contract/platform/config-instance.ts';
import { SCHEMA_LANGUAGES } from '../../../harness/contract/platform/config-schema.ts';
import { exact, oneOf, shape, stepsOf, Type } from '../../../harness/contract/shape.ts';
import { NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import { timestamp } from '../../common/clock.ts';
import type { Core } from '../core.ts';
import {
  createConfigInstance,
  createConfigSchema,
  createConfigType,
  createRelease,
  defaultSlot,
} from '../domain/configs.ts';
import { applyReport, createDeployment } from '../domain/deployments.ts';
import { archiveDevice, createDevice, createGroup } from '../domain/devices.ts';
import { findRow } from '../domain/find.ts';
import { VIEWS } from '../domain/views.ts';
import { PlatformError } from '../ports.ts';

// Entries refer to each other by name, not by id (`fixtures/platform-control.md`).

const listOf = <P extends TProperties>(members: P) => Type.Optional(Type.Array(exact(members)));
const Name = Type.String({ minLength: 1, maxLength: 128 });
const Reference = Type.String({ minLength: 1, description: 'By which this file refers to it' });

const members = {
  config_types: listOf({ slug: Name, name: Type.Optional(Name) }),
  config_schemas: listOf({
    name: Reference,
    config_type: Type.String({ description: 'Slug of its config type' }),
    language: Type.Optional(oneOf(SCHEMA_LANGUAGES)),
    document: Type.Unknown({ description: 'The schema: JSON Schema as YAML, or its text' }),
    filepath: Type.Optional(Type.String({ description: 'Where the device writes it; derived if left out' })),
    instance_format: Type.Optional(oneOf(INSTANCE_FORMATS)),
  }),
  config_instances: listOf({
    name: Reference,
    config_schema: Type.String({ description: 'Name of its config schema' }),
    format: Type.Optional(oneOf(INSTANCE_FORMATS)),
    content: Type.Unknown({ description: 'As YAML, sent as JSON; or its text' }),
  }),
  releases: listOf({ version: Name, config_schemas: Type.Array(Type.String()) }),
  groups: listOf({ name: Name, parent: Type.Optional(Type.String({ description: 'Name of a group above' })) }),
  devices: listOf({
    name: Type.String({ minLength: 1, maxLength: 48 }),
    description: Type.Optional(Type.String()),
    group: Type.Optional(Type.String({ description: 'Name of its group' })),
    // Without `activating`, which lasts only until the agent connects.
    status: Type.Optional(oneOf(['inactive', 'offline', 'online', 'archived'])),
    agent_version: Type.Optional(Type.String()),
  }),
  deployments: listOf({
    device: Type.String({ description: 'Name of its device' }),
    release: Type.String({ description: 'Version of its release' }),
    config_instances: Type.Array(Type.String()),
    status: Type.Optional(oneOf(DEPLOYMENT_STATUSES)),
    description: Type.Optional(Type.String()),
  }),
};
export const seedFile = shape(
  'SeedFile',
  Type.Object(members, {
    additionalProperties: false,
    description: 'A workspace of the simulated platform (muster simulate platform --seed-file)',
  }),
);
export type SeedFile = Static<typeof seedFile.schema>;

export class SeedError extends Error {
  override name = 'SeedError';
}

type ReadSeed = ReturnType<typeof readSeed>;

export function readSeed(text: string) {
  let yaml: Yaml;
  try {
    yaml = parseYaml(text);
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    const line = error.mistakes[0]?.at?.line;
    throw new SeedError(line === undefined ? error.message : `line ${line}: ${error.message}`);
  }
  const { document, lines } = yaml;
  const lineOf = (path: readonly (string | number)[]): number => {
    for (let depth = path.length; depth >= 0; depth -= 1) {
      const node = document.getIn(path.slice(0, depth), true);
      if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
    }
    return 1;
  };
  const at = (path: readonly (string | number)[], message: string): string =>
    `line ${lineOf(path)}: ${path.length === 0 ? 'the file' : path.join('.')} ${message}`;
  const seed = yaml.value ?? {};
  const problems = seedFile.problems(seed).map((problem) => at(stepsOf(problem), problem.message));
  if (problems.length > 0) throw new SeedError(problems.slice(0, 10).join('\n'));
  return {
    seed: seed as SeedFile,
    errorAt: (path: readonly (string | number)[], message: string) => new SeedError(at(path, message)),
  };
}

type Entry<K extends keyof SeedFile> = NonNullable<SeedFile[K]>[number];
type Maker<K extends keyof SeedFile> = (entry: Entry<K>, refer: Refer) => string;
type Refer = (kind: keyof SeedFile, name: string, field: string | number) => string;

const FORMAT = 'json';

/** Makes all entries or none, because a SeedError rolls back the transaction. */
export function applySeed(core: Core, read: ReadSeed): void {
  const { seed, errorAt } = read;
  const online = core.store.write(() => {
    const ids = makeAll(core, read);
    // Checks all statuses at the end, because later deployments change earlier ones.
    for (const [at, { status: wanted = 'deployed' }] of (seed.deployments ?? []).entries()) {
      const { status } = VIEWS.deployment(core, findRow(core, 'deployment', ids.get(`deployments/${at}`) ?? ''));
      if (status === wanted) continue;
      const later = 'after the later deployments of its device';
      throw errorAt(['deployments', at, 'status'], `cannot be ${wanted}: ${later} it is ${status}`);
    }
    const idsOf = (wanted: string): string[] => {
      const devices = (seed.devices ?? []).filter(({ status }) => status === wanted);
      return devices.map(({ name }) => ids.get(`devices/${name}`) ?? '');
    };
    // Archives after all deployments, because an archived device refuses deployments.
    for (const id of idsOf('archived')) archiveDevice(core, id);
    return idsOf('online');
  });
  for (const id of online) core.standIns.add(id);
}

function makeAll(core: Core, { seed, errorAt }: ReadSeed): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  const each = <K extends keyof SeedFile>(kind: K, member: keyof Entry<K> | undefined, make: Maker<K>) => {
    for (const [at, entry] of ((seed[kind] ?? []) as Entry<K>[]).entries()) {
      const refer: Refer = (referred, name, field) => {
        const id = ids.get(`${referred}/${name}`);
        if (id !== undefined) return id;
        throw errorAt([kind, at, field], `names ${JSON.stringify(name)}, which is not among the ${referred} above`);
      };
      const error = (message: string) => errorAt([kind, at], message);
      const name = member === undefined ? String(at) : String(entry[member]);
      if (ids.has(`${kind}/${name}`)) throw error(`has the name of an earlier one: ${JSON.stringify(name)}`);
      try {
        ids.set(`${kind}/${name}`, make(entry, refer));
      } catch (refusal) {
        throw refusal instanceof PlatformError ? error(`cannot be made: ${refusal.message}`) : refusal;
      }
    }
  };
  each('config_types', 'slug', ({ slug, name = slug }) => createConfigType(core, { slug, name }).id);
  each('config_schemas', 'name', (entry, refer) => {
    const { name, language = 'jsonschema', document, filepath, instance_format = FORMAT } = entry;
    const config_type_ref = { id: refer('config_types', entry.config_type, 'config_type') };
    const format = language === 'cue' ? 'cue' : typeof document === 'string' ? 'yaml' : FORMAT;
    const documents = [{ name, data: textOf(document) }];
    const slots = filepath !== undefined && { instance_slots: [defaultSlot(filepath)] };
    const schema = { config_type_ref, language, format, documents, instance_format, ...slots } as const;
    return createConfigSchema(core, schema, NEWEST_VERSION).id;
  });
  each('config_instances', 'name', (entry, refer) => {
    const config_schema_id = refer('config_schemas', entry.config_schema, 'config_schema');
    const content = { format: entry.format ?? FORMAT, data: textOf(entry.content) } as const;
    return createConfigInstance(core, { config_schema_id, content }, NEWEST_VERSION).id;
  });
  each('releases', 'version', ({ version, config_schemas }, refer) => {
    const config_schema_ids = config_schemas.map((name) => refer('config_schemas', name, 'config_schemas'));
    return createRelease(core, { version, config_schema_ids }).id;
  });
  each('groups', 'name', ({ name, parent }, refer) => {
    const parent_id = parent === undefined ? null : refer('groups', parent, 'parent');
    return createGroup(core, { name, parent_id }).id;
  });
  each('devices', 'name', (entry, refer) =>
    device(core, entry, entry.group === undefined ? null : refer('groups', entry.group, 'group')),
  );
  each('deployments', undefined, (entry, refer) => deployment(core, entry, refer));
  return ids;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

function device(
  core: Core,
  { name, description, status = 'inactive', agent_version = 'v0.1.0' }: Entry<'devices'>,
  group_id: string | null,
): string {
  const row = createDevice(core, { name });
  const now = timestamp(core.clock);
  const connection = status === 'online' ? status : 'offline';
  core.store.collections.device.update(row, {
    description: description ?? null,
    group_id,
    ...(status !== 'inactive' && { status: connection, agent_version, last_connected_at: now }),
    ...(status === 'offline' && { last_disconnected_at: now }),
  });
  return row.id;
}

function deployment(core: Core, entry: Entry<'deployments'>, refer: Refer): string {
  const { status = 'deployed', description = '' } = entry;
  const waits = status === 'staged' || status === 'drifted';
  const row = createDeployment(
    core,
    {
      description,
      target_status: waits ? 'staged' : 'deployed',
      device_id: refer('devices', entry.device, 'device'),
      release_id: refer('releases', entry.release, 'release'),
      config_instance_ids: entry.config_instances.map((name) => refer('config_instances', name, 'config_instances')),
    },
    NEWEST_VERSION,
  );
  const report = (change: Parameters<typeof applyReport>[2]) =>
    void applyReport(core, findRow(core, 'deployment', row.id), change);
  if (status === 'failed' || status === 'retrying') report({ error_status: status });
  if (status === 'deployed' || status === 'removing' || status === 'archived') report({ activity_status: 'deployed' });
  if (status === 'removing' || status === 'archived') report({ activity_status: status });
  return row.id;
}
