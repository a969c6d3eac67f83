/** Seeds config types, schemas, instances, commits and releases, with words and times of a believable workspace. */

import { createHash } from 'node:crypto';
import type { Random } from '../../common/random.ts';
import type { Core } from '../core.ts';
import { storeContent } from '../domain/config-instances.ts';
import { insert } from '../domain/find.ts';
import type { ConfigSchemaRow, ConfigTypeRow, GitCommitRow } from '../store/rows.ts';
import { defaultSlot } from '../versions.ts';

export const REGIONS = [
  { name: 'Europe', sites: ['Hamburg', 'Rotterdam', 'Poznan', 'Lyon', 'Turin', 'Malmo'] },
  { name: 'North America', sites: ['Columbus', 'Reno', 'Memphis', 'Toronto', 'Monterrey', 'Tacoma'] },
  { name: 'Asia Pacific', sites: ['Osaka', 'Busan', 'Penang', 'Pune', 'Brisbane', 'Suzhou'] },
] as const;

export const LINES = ['Receiving', 'Storage', 'Picking', 'Packing', 'Shipping', 'Returns'] as const;
export const ROBOTS = ['picker', 'hauler', 'welder', 'sorter', 'scanner', 'lifter', 'sweeper'] as const;
export const AGENT_VERSIONS = ['v0.8.1', 'v0.9.0', 'v0.9.2', 'v0.10.0', 'v0.10.1'] as const;

export const CONFIG_TYPES = [
  { name: 'Motion Control', slug: 'motion-control', property: 'max_speed', low: 1, high: 12 },
  { name: 'Localization', slug: 'localization', property: 'update_hz', low: 5, high: 60 },
  { name: 'Perception', slug: 'perception', property: 'confidence', low: 1, high: 99 },
  { name: 'Safety Limits', slug: 'safety-limits', property: 'stop_distance', low: 1, high: 40 },
] as const;

export const NOTES = [
  'Slower approach near conveyors',
  'Tune localization after the map update',
  'Wider safety margin for the night shift',
  'Roll-out of the quarter',
  'Follow-up to the incident review',
] as const;

/** End of the seeded history, fixed so that a seed always gives the same timestamps. */
export const SEED_END = Date.parse('2026-01-31T18:00:00.000Z');
export const DAY = 24 * 3_600_000;

export const at = (time: number): string => new Date(time).toISOString();

export const stampsAt = (time: number): { created_at: string; updated_at: string } => ({
  created_at: at(time),
  updated_at: at(time),
});

export type SeededRelease = ReturnType<typeof seedCatalogue>[number];

const RELEASES = 9;
const SETS = 4;
/** First release with the second generation of schemas. */
const NEW_SCHEMAS = 5;

type Kind = (typeof CONFIG_TYPES)[number];

/** Returns the releases, oldest first, each with sets of instance ids that fill it. */
export function seedCatalogue(core: Core, dice: Random) {
  const start = SEED_END - 400 * DAY;
  const types = CONFIG_TYPES.map((kind) => ({
    kind,
    row: insert(core, 'config_type', { name: kind.name, slug: kind.slug, ...stampsAt(start) }),
  }));
  const generations = [0, 1].map((generation) =>
    types.map(({ kind, row }) => ({
      kind,
      row: addSchema(core, kind, row, generation, start + generation * 200 * DAY),
    })),
  );
  return Array.from({ length: RELEASES }, (_, index) => {
    const createdAt = start + (index + 1) * 40 * DAY + dice.integer(0, DAY);
    const schemas = generations[index < NEW_SCHEMAS ? 0 : 1] ?? [];
    const commit = addCommit(core, dice, index, createdAt - 3_600_000);
    const row = insert(core, 'release', {
      version: `v1.${index}.0`,
      git_commit_id: commit.id,
      config_schema_ids: JSON.stringify(schemas.map((schema) => schema.row.id)),
      ...stampsAt(createdAt),
    });
    const instanceSets = Array.from({ length: SETS }, () =>
      schemas.map(({ kind, row: schema }) => addInstance(core, dice, kind, schema, createdAt)),
    );
    return { row, createdAt, instanceSets };
  });
}

function addSchema(core: Core, kind: Kind, type: ConfigTypeRow, generation: number, time: number): ConfigSchemaRow {
  const { property, low, high, slug } = kind;
  const document = {
    type: 'object',
    required: [property],
    properties: { [property]: { type: 'number', minimum: low, maximum: high + generation }, site: { type: 'string' } },
  };
  const data = JSON.stringify(document);
  return insert(core, 'config_schema', (id) => ({
    config_type_id: type.id,
    digest: `sha256:${createHash('sha256').update(data).digest('hex')}`,
    ...({ language: 'jsonschema', format: 'json', instance_format: 'json' } as const),
    instance_slots: JSON.stringify([defaultSlot(`${core.names.configRoot}/${slug}.json`)]),
    documents: JSON.stringify([{ id: `${id}_doc_0`, name: `${slug}.schema.json`, data }]),
    git_commit: null,
    ...stampsAt(time),
  }));
}

function addCommit(core: Core, dice: Random, index: number, time: number): GitCommitRow {
  const sha = createHash('sha1').update(`${dice.next()}`).digest('hex');
  const url = 'https://github.com/example-robotics/fleet-config';
  return insert(core, 'git_commit', {
    sha,
    message: `Prepare v1.${index}.0`,
    repository_owner: 'example-robotics',
    repository_name: 'fleet-config',
    repository_type: 'github',
    repository_url: url,
    commit_url: `${url}/commit/${sha}`,
    created_at: at(time),
  });
}

function addInstance(core: Core, dice: Random, kind: Kind, schema: ConfigSchemaRow, time: number): string {
  const row = insert(core, 'config_instance', {
    config_schema_id: schema.id,
    config_type_id: schema.config_type_id,
    slot_key: 'default',
    filepath: `${core.names.configRoot}/${kind.slug}.json`,
    content_format: 'json',
    created_at: at(time + dice.integer(0, DAY)),
  });
  storeContent(core, row.id, `${JSON.stringify({ [kind.property]: dice.integer(kind.low, kind.high) }, null, 2)}\n`);
  return row.id;
}
