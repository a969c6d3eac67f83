/** Records that the run has created, and short sequences of commands on them. */
import { randomInt } from 'node:crypto';
import type { SupportedVersion } from '../../../harness/contract/versions.ts';
import type { Ask, Exchange } from './exchange.ts';
import { type Explorer, getOf, listOf, operation } from './explorer.ts';
import type { KnownRecord } from './model.ts';
import { settle } from './settling.ts';
import { Names, Writes } from './writes.ts';

export const AT_ONCE = 6;

export async function readAll(ex: Explorer, asks: readonly Ask[]): Promise<Exchange[]> {
  const answers: Exchange[] = [];
  for (let at = 0; at < asks.length && !ex.budget.isLate; at += AT_ONCE) {
    ex.t.signal.throwIfAborted();
    answers.push(...(await Promise.all(asks.slice(at, at + AT_ONCE).map((ask) => ex.look(ask)))));
  }
  return answers;
}

export interface World {
  writes: Writes;
  types: KnownRecord[];
  parts: { schema: KnownRecord; release: KnownRecord; instances: KnownRecord[] }[];
  devices: KnownRecord[];
  groups: KnownRecord[];
  deployments: KnownRecord[];
}

export async function makeWorld(ex: Explorer): Promise<World> {
  // Draws names without the seed, because an earlier run with the same seed may have left equal names.
  const writes = new Writes(ex, new Names(randomInt(2 ** 31).toString(36)));
  const world: World = { writes, types: [], parts: [], devices: [], groups: [], deployments: [] };
  const keep = <T>(list: T[], made: T | undefined): T | undefined => {
    if (made !== undefined) list.push(made);
    return made;
  };
  for (const version of ex.versions) {
    const type = keep(world.types, await writes.configType(version));
    keep(world.devices, await writes.device(version));
    if (type === undefined) continue;
    const schema = await writes.schema(version, type);
    await writes.schema(version, type, { hasPath: false });
    if (schema === undefined) continue;
    const data = JSON.stringify({ speed: world.parts.length, unit: 'm/s²', made: writes.names.next() });
    const instance = await writes.instance(version, schema, { format: 'json', data });
    const release = await writes.release(version, [schema]);
    if (release === undefined || instance === undefined) continue;
    world.parts.push({ schema, release, instances: [instance] });
  }
  if (ex.has(ex.newest, operation('createGroup'))) {
    const top = keep(world.groups, await writes.group(ex.newest, null));
    keep(world.groups, await writes.group(ex.newest, undefined));
    const below = top && keep(world.groups, await writes.group(ex.newest, top.id));
    if (below !== undefined) keep(world.groups, await writes.group(ex.newest, below.id));
  }
  for (const [id, { status, text }] of ex.lacking)
    ex.notes.push(`not part of the target: ${id} (${status} ${text.slice(0, 120)})`);
  return world;
}

const MORE_THAN_A_PAGE = 101;
const MADE_AT_ONCE = 8;

/** Fills a list beyond 100 items, because only a longer list shows whether a platform obeys a limit. */
export async function fillOneList(ex: Explorer, { writes, types }: World): Promise<void> {
  const longest = Math.max(...[...ex.model.lists.values()].map(({ reference }) => reference?.total ?? 0));
  if (longest >= MORE_THAN_A_PAGE || types.length === 0) return;
  let missing = MORE_THAN_A_PAGE - (ex.model.list('config_type').reference?.total ?? 0);
  for (; missing > 0 && !ex.budget.isLate; missing -= MADE_AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(missing, MADE_AT_ONCE) }, () => writes.configType(ex.newest)));
}

type Command = (ex: Explorer, world: World, version: SupportedVersion) => Promise<KnownRecord | undefined>;

const COMMANDS: Readonly<Record<string, Command>> = {
  'rename a device': async (ex, { writes, devices }, version) => {
    const device = ex.draw.one(devices);
    if (device !== undefined) await writes.rename(version, device, 'updateDevice');
    return device;
  },
  'rename a config type': async (ex, { writes, types }, version) => {
    const type = ex.draw.one(types);
    if (type !== undefined) await writes.rename(version, type, 'updateConfigType');
    return type;
  },
  'change a slug': async (ex, { writes, types }, version) => {
    const type = ex.draw.one(types);
    if (type !== undefined) await writes.slug(version, type);
    return type;
  },
  'rename a group': async (ex, { writes, groups }) => {
    const group = ex.draw.one(groups);
    if (group !== undefined) await writes.rename(ex.newest, group, 'updateGroup');
    return group;
  },
  'move a group': async (ex, { writes, groups }) => {
    const group = ex.draw.one(groups);
    const to = ex.draw.one([undefined, ...groups]);
    if (group === undefined || (to !== undefined && isBelow(ex, to, group))) return undefined;
    await writes.move(ex.newest, group, to?.id ?? null);
    return group;
  },
  deploy: async (ex, world, version) => {
    const { writes, devices, parts, deployments } = world;
    const [device, part] = [ex.draw.one(devices), ex.draw.one(parts)];
    if (device === undefined || part === undefined) return undefined;
    const target = ex.draw.one(['staged', 'deployed'] as const);
    const made = await writes.deployment(version, { device, ...part }, { target: target ?? 'staged' });
    if (made !== undefined) deployments.push(made);
    return made;
  },
  act: async (ex, { writes, deployments }, version) => {
    const deployment = ex.draw.one(deployments);
    if (deployment === undefined) return undefined;
    await writes.act(version, deployment, ex.draw.chance(0.5) ? 'deploy' : 'archive');
    return deployment;
  },
};

function isBelow({ model }: Explorer, group: KnownRecord, other: KnownRecord): boolean {
  for (let at: KnownRecord | undefined = group, steps = 0; at !== undefined && steps < 20; steps += 1) {
    if (at.id === other.id) return true;
    at = model.records.get(String(at.members.get('parent_id')?.value));
  }
  return false;
}

export async function* eachCommand(ex: Explorer, world: World): AsyncGenerator<void, void> {
  const due = Object.keys(COMMANDS).length * ex.versions.length;
  for (let given = 0; given < due && !ex.budget.isLate; given += COMMANDS_IN_A_SEQUENCE) {
    await runSequence(ex, world);
    await settle(ex);
    yield;
  }
}

const COMMANDS_IN_A_SEQUENCE = 4;

export async function runSequence(ex: Explorer, world: World): Promise<void> {
  for (let given = 0; given < COMMANDS_IN_A_SEQUENCE; given += 1) {
    const all = Object.keys(COMMANDS).flatMap((name) => ex.versions.map((version) => ({ name, version })));
    const [first, ...others] = all;
    if (first === undefined) return;
    const { name, version } = ex.cells.rarest(ex.draw, [first, ...others], (each) => ({
      command: each.name,
      version: each.version,
    }));
    ex.cells.visit({ command: name, version });
    const record = await COMMANDS[name]?.(ex, world, version);
    if (record !== undefined) await readAround(ex, record);
  }
}

async function readAround(ex: Explorer, { id, kind }: KnownRecord): Promise<void> {
  const read = getOf(kind);
  const other = ex.draw.one(ex.model.of(kind, true));
  const version = ex.draw.one(ex.versions);
  const asks: Ask[] = [];
  const base = { key: 'full', query: [] } as const;
  if (read !== undefined) {
    asks.push({ ...base, operation: read, version: ex.newest, ids: [id] });
    if (version !== undefined && ex.has(version, read)) asks.push({ ...base, operation: read, version, ids: [id] });
    if (other !== undefined) asks.push({ ...base, operation: read, version: ex.newest, ids: [other.id] });
  }
  await readAll(ex, asks);
  if (version === undefined || !ex.has(version, listOf(kind))) return;
  await ex.look({ ...base, operation: listOf(kind), version, ids: [], query: [['limit', '100']] });
}

export async function readRecord(
  ex: Explorer,
  { id, kind }: KnownRecord,
  version: string,
  expand?: string,
): Promise<Exchange | undefined> {
  const get = getOf(kind);
  if (get === undefined || !ex.has(version, get)) return undefined;
  const query = expand === undefined ? [] : ([['expand', expand]] as const);
  return await ex.look({ operation: get, version, key: 'full', ids: [id], query });
}
