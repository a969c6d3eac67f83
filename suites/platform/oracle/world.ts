import { randomInt } from 'node:crypto';
import type { SupportedVersion } from '../../../harness/contract/versions.ts';
import { type Ask, askFor, type Exchange } from './exchange.ts';
import { type Explorer, getOf, listOf, operation } from './explorer.ts';
import type { KnownRecord } from './model.ts';
import { settle } from './settling.ts';
import { Writes } from './writes.ts';

export const AT_ONCE = 6;

export async function readAll(ex: Explorer, asks: readonly Ask[], send = (ask: Ask) => ex.look(ask)) {
  const answers: Exchange[] = [];
  for (let at = 0; at < asks.length && !ex.budget.isLate; at += AT_ONCE) {
    ex.t.signal.throwIfAborted();
    answers.push(...(await Promise.all(asks.slice(at, at + AT_ONCE).map(send))));
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
  // Draws a mark apart from the seed, because an earlier run with that seed may have left equal names.
  const writes = new Writes(ex, randomInt(2 ** 31).toString(36));
  const world: World = { writes, types: [], parts: [], devices: [], groups: [], deployments: [] };
  const keep = <T>(list: T[], made: T | undefined): T | undefined => {
    if (made !== undefined) list.push(made);
    return made;
  };
  for (const version of ex.versions) {
    const type = keep(world.types, await writes.configType(version, world.types.length === 0));
    keep(world.devices, await writes.device(version));
    if (type === undefined) continue;
    const schema = await writes.schema(version, type);
    await writes.schema(version, type, { slots: 0 });
    if (schema === undefined) continue;
    const data = JSON.stringify({ speed: world.parts.length, unit: 'm/s²', made: writes.name() });
    const instance = await writes.instance(version, schema, { format: 'json', data });
    const release = await writes.release(version, [schema]);
    if (release === undefined || instance === undefined) continue;
    world.parts.push({ schema, release, instances: [instance] });
  }
  const [one, other] = world.parts;
  // Comes last, because a platform may refuse a deployment of two config instances.
  const both = one && other && (await writes.release(ex.newest, [one.schema, other.schema]));
  if (both) world.parts.push({ ...one, release: both, instances: [...one.instances, ...other.instances] });
  if (ex.has(ex.newest, operation('createGroup'))) {
    const top = keep(world.groups, await writes.group(null));
    keep(world.groups, await writes.group(undefined));
    const below = top && keep(world.groups, await writes.group(top.id));
    if (below !== undefined) keep(world.groups, await writes.group(below.id));
  }
  for (const [id, { status, text }] of ex.lacking)
    ex.notes.push(`not part of the target: ${id} (${status} ${text.slice(0, 120)})`);
  return world;
}

const MORE_THAN_A_PAGE = 101;

/** Makes one list longer than 100 items, because only such a list shows whether `limit` is clamped to 100. */
export async function fillOneList(ex: Explorer, { writes, types }: World): Promise<void> {
  const longest = Math.max(...[...ex.model.lists.values()].map(({ reference }) => reference?.total ?? 0));
  if (longest >= MORE_THAN_A_PAGE || types.length === 0) return;
  let missing = MORE_THAN_A_PAGE - (ex.model.list('config_type').reference?.total ?? 0);
  for (; missing > 0 && !ex.budget.isLate; missing -= AT_ONCE) {
    const asked = Array.from({ length: Math.min(missing, AT_ONCE) }, () => writes.configType(ex.newest));
    // Stops at a refusal, because a platform may limit the number of records.
    if ((await Promise.all(asked)).includes(undefined)) return;
  }
}

type Command = (ex: Explorer, world: World, version: SupportedVersion) => Promise<KnownRecord | undefined>;

const rename =
  (list: 'devices' | 'types' | 'groups', id: string): Command =>
  async (ex, world, version) => {
    const record = ex.draw.one(world[list]);
    if (record !== undefined) await world.writes.change(version, record, id, { name: world.writes.name() });
    return record;
  };

const COMMANDS: Readonly<Record<string, Command>> = {
  'rename a device': rename('devices', 'updateDevice'),
  'rename a config type': rename('types', 'updateConfigType'),
  'change a slug': async (ex, { writes, types }, version) => {
    const type = ex.draw.one(types);
    if (type !== undefined) await writes.slug(version, type);
    return type;
  },
  'rename a group': (ex, world) => rename('groups', 'updateGroup')(ex, world, ex.newest),
  'move a group': async (ex, { writes, groups }) => {
    const group = ex.draw.one(groups);
    const to = ex.draw.one([undefined, ...groups]);
    const predicted = writes.below(to?.id);
    if (
      group === undefined ||
      (to !== undefined && pathFrom(ex, to.id).includes(group.id)) ||
      !('parent_id' in predicted)
    )
      return undefined;
    await writes.change(ex.newest, group, 'moveGroup', { parent_id: to?.id ?? null }, predicted);
    return group;
  },
  deploy: async (ex, world, version) => {
    const { writes, devices, parts, deployments } = world;
    const [device, part] = [ex.draw.one(devices), ex.draw.one(parts)];
    if (device === undefined || part === undefined) return undefined;
    const target = ex.draw.one(['staged', 'deployed']);
    const made = await writes.deployment(version, { device, ...part }, { target });
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

/** Ids of a group and of all above it; ends with a repeated one if they form a circle. */
export function pathFrom({ model }: Explorer, id: string): string[] {
  const path: string[] = [];
  for (let at: unknown = id; typeof at === 'string' && !isCircle(path); ) {
    path.push(at);
    at = model.known(at, 'group')?.members.get('parent_id')?.value;
  }
  return path;
}

export const isCircle = (path: readonly string[]): boolean => new Set(path).size < path.length;

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
    const cells = Object.keys(COMMANDS).flatMap((command) => ex.versions.map((version) => ({ command, version })));
    const [first, ...others] = cells;
    if (first === undefined) return;
    const cell = ex.cells.rarest(ex.draw, [first, ...others], (each) => each);
    ex.cells.visit(cell);
    const record = await COMMANDS[cell.command]?.(ex, world, cell.version);
    if (record !== undefined) await readAround(ex, record);
  }
}

async function readAround(ex: Explorer, { id, kind }: KnownRecord): Promise<void> {
  const read = getOf(kind);
  const other = ex.draw.one(ex.model.of(kind, true));
  const version = ex.draw.one(ex.versions);
  const asks = [askFor(read, ex.newest, [id])];
  if (version !== undefined && ex.has(version, read)) asks.push(askFor(read, version, [id]));
  if (other !== undefined) asks.push(askFor(read, ex.newest, [other.id]));
  await readAll(ex, asks);
  if (version === undefined || !ex.has(version, listOf(kind))) return;
  await ex.look(askFor(listOf(kind), version, [], { query: [['limit', '100']] }));
}

export async function readRecord(ex: Explorer, { id, kind }: KnownRecord, version: string) {
  return ex.has(version, getOf(kind)) ? await ex.look(askFor(getOf(kind), version, [id])) : undefined;
}
