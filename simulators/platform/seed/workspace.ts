/** Realistic workspace from a seed: config types, releases, groups, and offline devices with past deployments. */

import { hash } from 'node:crypto';
import { type Random, random } from '../../common/random.ts';
import { type Core, idsFrom } from '../core.ts';
import { defaultSlot, storeContent } from '../domain/configs.ts';
import { insert } from '../domain/find.ts';
import {
  type ConfigSchemaRow,
  type ConfigTypeRow,
  type DeploymentRow,
  type DeviceRow,
  UNPROVISIONED,
} from '../store/rows.ts';

const REGIONS = [
  { name: 'Europe', sites: ['Hamburg', 'Rotterdam', 'Poznan', 'Lyon', 'Turin', 'Malmo'] },
  { name: 'North America', sites: ['Columbus', 'Reno', 'Memphis', 'Toronto', 'Monterrey', 'Tacoma'] },
  { name: 'Asia Pacific', sites: ['Osaka', 'Busan', 'Penang', 'Pune', 'Brisbane', 'Suzhou'] },
] as const;

const LINES = ['Receiving', 'Storage', 'Picking', 'Packing', 'Shipping', 'Returns'] as const;
const ROBOTS = ['picker', 'hauler', 'welder', 'sorter', 'scanner', 'lifter', 'sweeper'] as const;
const AGENT_VERSIONS = ['v0.8.1', 'v0.9.0', 'v0.9.2', 'v0.10.0', 'v0.10.1'] as const;

const CONFIG_TYPES = [
  { name: 'Motion Control', slug: 'motion-control', property: 'max_speed', low: 1, high: 12 },
  { name: 'Localization', slug: 'localization', property: 'update_hz', low: 5, high: 60 },
  { name: 'Perception', slug: 'perception', property: 'confidence', low: 1, high: 99 },
  { name: 'Safety Limits', slug: 'safety-limits', property: 'stop_distance', low: 1, high: 40 },
] as const;

const NOTES = [
  'Slower approach near conveyors',
  'Tune localization after the map update',
  'Wider safety margin for the night shift',
  'Roll-out of the quarter',
  'Follow-up to the incident review',
] as const;

/** Fixed end of the seeded history, so that equal seeds give equal timestamps. */
const SEED_END = Date.parse('2026-01-31T18:00:00.000Z');
const DAY = 24 * 3_600_000;

const at = (time: number): string => new Date(time).toISOString();

const stampsAt = (time: number) => ({ created_at: at(time), updated_at: at(time) });

export function seedWorkspace(core: Core, { devices, seed }: { devices: number; seed: string }): void {
  if (core.store.collections.device.size > 0) return;
  const seeded: Core = { ...core, newId: idsFrom(`${seed}/seeded`) };
  const dice = random(seed).fork('workspace');
  core.store.write(() => {
    const catalogue = seedCatalogue(seeded, dice.fork('catalogue'));
    const fleetDice = dice.fork('fleet');
    const places = seedGroups(seeded, devices);
    core.store.collections.device.load(devices, (seq) => device(seeded, fleetDice, places, seq, devices));
    seedHistory(seeded, dice.fork('history'), catalogue, devices);
  });
}

type SeededRelease = ReturnType<typeof seedCatalogue>[number];

type Kind = (typeof CONFIG_TYPES)[number];

function seedCatalogue(core: Core, dice: Random) {
  const start = SEED_END - 400 * DAY;
  const types = CONFIG_TYPES.map((kind) => {
    return { kind, row: insert(core, 'config_type', { name: kind.name, slug: kind.slug, ...stampsAt(start) }) };
  });
  const generations = [0, 1].map((generation) => {
    const time = start + generation * 200 * DAY;
    return types.map(({ kind, row }) => ({ kind, row: addSchema(core, kind, row, generation, time) }));
  });
  return Array.from({ length: 9 }, (_, index) => {
    const createdAt = start + (index + 1) * 40 * DAY + dice.integer(0, DAY);
    const schemas = generations[index < 5 ? 0 : 1] ?? [];
    const sha = hash('sha1', `${dice.next()}`, 'hex');
    const url = 'https://github.com/example-robotics/fleet-config';
    const commit = insert(core, 'git_commit', {
      sha,
      message: `Prepare v1.${index}.0`,
      repository_owner: 'example-robotics',
      repository_name: 'fleet-config',
      repository_type: 'github' as const,
      repository_url: url,
      commit_url: `${url}/commit/${sha}`,
      created_at: at(createdAt - 3_600_000),
    });
    const row = insert(core, 'release', {
      version: `v1.${index}.0`,
      git_commit_id: commit.id,
      config_schema_ids: JSON.stringify(schemas.map((schema) => schema.row.id)),
      ...stampsAt(createdAt),
    });
    const instanceSets = Array.from({ length: 4 }, () =>
      schemas.map(({ kind, row: schema }) => addInstance(core, dice, kind, schema, createdAt)),
    );
    return { row, createdAt, instanceSets };
  });
}

function addSchema(core: Core, kind: Kind, type: ConfigTypeRow, generation: number, time: number): ConfigSchemaRow {
  const { property, low, high, slug } = kind;
  const data = JSON.stringify({
    type: 'object',
    required: [property],
    properties: { [property]: { type: 'number', minimum: low, maximum: high + generation }, site: { type: 'string' } },
  });
  return insert(core, 'config_schema', (id) => ({
    config_type_id: type.id,
    digest: `sha256:${hash('sha256', data, 'hex')}`,
    ...({ language: 'jsonschema', format: 'json', instance_format: 'json' } as const),
    instance_slots: JSON.stringify([defaultSlot(`${core.names.configRoot}/${slug}.json`)]),
    documents: JSON.stringify([{ id: `${id}_doc_0`, name: `${slug}.schema.json`, data }]),
    git_commit: null,
    ...stampsAt(time),
  }));
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

interface Place {
  site: string;
  groupId: string;
}

/** Number of devices created at the same moment, as in a bulk import. */
const PALLET = 25;
const FIRST = SEED_END - 380 * DAY;

function seedGroups(core: Core, devices: number): Place[] {
  const add = (name: string, parentId: string | null, time: number): string =>
    insert(core, 'group', { name, parent_id: parentId, ...stampsAt(time) }).id;
  const places: Place[] = [];
  const sitesEach = Math.max(1, Math.min(6, Math.ceil(devices / 100)));
  for (const [index, region] of REGIONS.entries()) {
    const top = add(region.name, null, FIRST - 10 * DAY + index * 1000);
    for (const site of region.sites.slice(0, sitesEach)) {
      const below = add(site, top, FIRST - 9 * DAY);
      for (const line of LINES) places.push({ site: site.toLowerCase(), groupId: add(line, below, FIRST - 8 * DAY) });
    }
  }
  return places;
}

function device(core: Core, dice: Random, places: readonly Place[], seq: number, count: number): DeviceRow {
  const place = dice.pick(places);
  const pallet = Math.floor((seq - 1) / PALLET);
  const created = FIRST + Math.floor((pallet * PALLET * 370 * DAY) / Math.max(count, PALLET));
  const status = statusFor(seq, dice);
  const provisioned = status !== 'inactive';
  const connected = created + dice.integer(1, 5 * DAY);
  const seen = connected + dice.integer(1, 4 * DAY);
  return {
    seq,
    id: core.newId('device', seq),
    name: `${place.site}-${dice.pick(ROBOTS)}-${String(seq).padStart(4, '0')}`,
    description: dice.chance(0.2) ? `Bay ${dice.integer(1, 60)}` : null,
    status,
    agent_version: provisioned ? dice.pick(AGENT_VERSIONS) : null,
    last_connected_at: provisioned ? at(connected) : null,
    last_disconnected_at: provisioned ? at(seen) : null,
    created_at: at(created),
    updated_at: at(provisioned ? seen : created),
    group_id: dice.chance(0.95) ? place.groupId : null,
    ...UNPROVISIONED,
  };
}

/** Fixed for the first 24 devices, so that a small workspace has archived, inactive and offline ones. */
function statusFor(seq: number, dice: Random): DeviceRow['status'] {
  if (seq <= 24) return seq % 12 === 6 ? 'archived' : seq % 8 === 4 ? 'inactive' : 'offline';
  const draw = dice.next();
  return draw < 0.12 ? 'inactive' : draw < 0.15 ? 'archived' : 'offline';
}

type Draft = Omit<DeploymentRow, 'seq' | 'id'>;

const ENDINGS = ['deployed', 'removing', 'staged', 'retrying', 'failed', 'drifted', 'queued'] as const;

function present(
  ending: (typeof ENDINGS)[number],
  { draft, queued, deployed }: { draft(changes: Partial<Draft>): Draft; queued: string; deployed: string },
  queue: Core['store'],
): Draft[] {
  const later = at(Date.parse(deployed) + 6 * 3_600_000);
  const next = { created_at: later, updated_at: later, deployed_at: null } as const;
  const both = { activity_status: 'deployed', target_status: 'deployed' } as const;
  const live = { ...both, deployed_at: deployed, updated_at: deployed };
  const onDevice = draft(live);
  const waiting = { activity_status: 'queued', target_status: 'deployed' } as const;
  const staged = { activity_status: 'staged', target_status: 'staged', queued_at: null, queue_order: null } as const;
  switch (ending) {
    case 'deployed':
      return [onDevice];
    case 'queued':
      return [draft(waiting)];
    case 'retrying':
      return [draft({ ...waiting, error_status: 'retrying' })];
    case 'failed':
      return [draft({ error_status: 'failed', archived_at: later, updated_at: later })];
    case 'removing': {
      // Shows a replacement while the device was offline: the old deployment, and the new one in the queue.
      const leaving = draft({ ...live, activity_status: 'removing', target_status: 'archived', updated_at: later });
      const place = { queued_at: later, queue_before: queue.queued, queue_order: queue.nextInQueue() };
      return [leaving, draft({ ...waiting, ...next, ...place })];
    }
    case 'staged':
      return [onDevice, draft({ ...staged, ...next, queue_before: queue.queued })];
    case 'drifted': {
      const earlier = at(Date.parse(queued) - 1_800_000);
      const drifted = draft({ ...staged, activity_status: 'drifted', created_at: earlier, updated_at: queued });
      return [drifted, onDevice];
    }
  }
}

function seedHistory(core: Core, dice: Random, releases: readonly SeededRelease[], devices: number): void {
  const { device: deviceRows, deployment: deploymentRows } = core.store.collections;
  const drafts: Draft[] = [];
  let turn = 0;
  // At most 20,000 devices get deployments, because millions of deployments need much memory.
  for (let seq = 1; seq <= Math.min(devices, 20_000); seq++) {
    const device = deviceRows.bySeq(seq);
    if (device === undefined || device.status === 'inactive') continue;
    drafts.push(...historyOf(core, dice, device, releases, turn));
    if (device.status !== 'archived') turn += 1;
  }
  const ids: string[] = [];
  const lastTarget = new Map<string, string>();
  const { last } = deploymentRows;
  deploymentRows.load(drafts.length, (seq) => {
    const draft = drafts[seq - last - 1] as Draft;
    const id = core.newId('deployment', seq);
    ids.push(id);
    const parent_id = lastTarget.get(draft.device_id) ?? null;
    if (draft.queue_order !== null) lastTarget.set(draft.device_id, id);
    return { ...draft, seq, id, parent_id };
  });
  for (const [index, { device_id, release_id, activity_status, target_status }] of drafts.entries()) {
    const id = ids[index] as string;
    const current = activity_status === 'deployed' || activity_status === 'removing';
    const row = current || target_status === 'deployed' ? deviceRows.byId(device_id) : undefined;
    if (row === undefined) continue;
    deviceRows.update(row, {
      ...(current && { current_deployment_id: id, current_release_id: release_id }),
      ...(target_status === 'deployed' && { target_deployment_id: id }),
    });
  }
}

function historyOf(core: Core, dice: Random, device: DeviceRow, releases: readonly SeededRelease[], turn: number) {
  const created = Date.parse(device.created_at);
  const later = releases.filter(({ createdAt }) => createdAt > created);
  const chosen = later.filter(() => dice.chance(0.5)).slice(-3);
  const taken = chosen.length > 0 ? chosen : releases.slice(-1);
  const drafts: Draft[] = [];
  let time = created + dice.integer(3_600_000, DAY);
  for (const [index, release] of taken.entries()) {
    time = Math.max(time, release.createdAt + dice.integer(3_600_000, DAY));
    const queued = at(time);
    const deployed = at(time + dice.integer(1000, 600_000));
    const order = { queue_before: core.store.queued, queue_order: core.store.nextInQueue() };
    const draft = (changes: Partial<Draft>): Draft => ({
      description: dice.pick(NOTES),
      activity_status: 'archived',
      error_status: 'none',
      target_status: 'archived',
      device_id: device.id,
      release_id: release.row.id,
      parent_id: null,
      queued_at: queued,
      deployed_at: null,
      archived_at: null,
      created_at: queued,
      updated_at: queued,
      config_instance_ids: JSON.stringify(dice.pick(release.instanceSets)),
      ...order,
      agent_activity: null,
      ...changes,
    });
    if (device.status === 'archived' || index < taken.length - 1) {
      const archived = at(time + dice.integer(DAY, 2 * DAY));
      drafts.push(draft({ deployed_at: deployed, archived_at: archived, updated_at: archived }));
    } else {
      // Gives each ending to one of the first devices; of all others, two thirds end as `deployed`.
      const ending = ENDINGS[turn] ?? (dice.chance(0.6) ? 'deployed' : dice.pick(ENDINGS));
      drafts.push(...present(ending, { draft, queued, deployed }, core.store));
    }
    time += 2 * DAY;
  }
  return drafts;
}
