/** Explores writes that the platform must refuse (no key, wrong key, ended version), and pings. */
import type { Operation } from '../../../harness/contract/platform/operation.ts';
import { operationsOf } from '../../../harness/contract/platform/operations.ts';
import { END_OF_LIFE_VERSIONS, NEWEST_VERSION, type SupportedVersion } from '../../../harness/contract/versions.ts';
import { isObject } from '../../json.ts';
import { MILLISECOND_NANOS, pingCode } from '../support/ping.ts';
import { ok, refused } from '../support/requests.ts';
import { type Ask, type Exchange, SURELY_WRONG_KEYS } from './exchange.ts';
import { type Explorer, getOf, operation } from './explorer.ts';
import type { KnownRecord } from './model.ts';
import { dueRefusal } from './refusals.ts';
import { readAll, type World } from './world.ts';

export async function* refuseWrites(ex: Explorer, world: World): AsyncGenerator<void, void> {
  const { writes, devices, parts } = world;
  const [device, part] = [devices[0], parts[0]];
  const staged = device && part && (await writes.deployment(ex.newest, { device, ...part }));
  const asks = ex.draw.shuffled(forbiddenWrites(ex, world, staged));
  const touched = asks.flatMap(({ ids, operation: { kind } }) =>
    ids[0] !== undefined && kind !== undefined ? [{ id: ids[0], kind }] : [],
  );
  const sent: Exchange[] = [];
  while (asks.length > 0 && !ex.budget.isLate) sent.push(...(await readAll(ex, asks.splice(0, WRITTEN_IN_A_STEP))));
  yield;
  const kinds = new Set(sent.flatMap(({ operation: { kind } }) => (kind === undefined ? [] : [kind])));
  await Promise.all([...kinds].map((kind) => ex.walk(kind)));
  const shown = new Map<string, Readonly<Record<string, unknown>>>();
  for (const { id, kind } of new Map(touched.map((each) => [each.id, each])).values()) {
    const get = getOf(kind);
    if (get === undefined || !ex.has(ex.newest, get)) continue;
    const { json } = await ex.send({ operation: get, version: ex.newest, key: 'full', ids: [id], query: [] });
    if (isObject(json)) shown.set(id, json);
  }
  for (const exchange of sent) holdUndone(ex, exchange, shown);
}

const WRITTEN_IN_A_STEP = 24;

/** Fails if a refused write left a trace: a name or version in a list, or a changed member. */
function holdUndone(ex: Explorer, exchange: Exchange, shown: ReadonlyMap<string, Readonly<Record<string, unknown>>>) {
  const { operation, ids, body } = exchange;
  const why = dueRefusal(exchange);
  const { kind } = operation;
  if (kind === undefined || why === undefined) return;
  const record = shown.get(ids[0] ?? '');
  const set = Object.entries(operation.id === 'archiveDeployment' ? { target_status: 'archived' } : (body ?? {}));
  const known = ex.model.records.get(ids[0] ?? '')?.members;
  const marks = set.filter(([name]) => name === 'name' || name === 'version').map(([name, value]) => ({ name, value }));
  const made = ex.model
    .list(kind)
    .reference?.items.find((item) => marks.some(({ name, value }) => item[name] === value));
  const isChanged = set.some(([name, value]) => record?.[name] === value && known?.get(name)?.value !== value);
  const done = record === undefined ? made : isChanged ? record : undefined;
  const expected = `nothing to be carried out, since ${why}`;
  ex.hold(exchange, done === undefined, { what: 'served', kind, path: ` ${why}` }, expected, done);
}

/** Lists every write of each version, valid except for the key or for an ended version. */
function forbiddenWrites(ex: Explorer, world: World, staged: KnownRecord | undefined): Ask[] {
  const [ended] = END_OF_LIFE_VERSIONS;
  const asks = (version: string, has: SupportedVersion, key: () => Ask['key']): Ask[] =>
    operationsOf(has).flatMap((each): Ask[] => {
      const write = each.method === 'GET' ? undefined : bodyOf(each, world, staged);
      if (write === undefined) return [];
      return [{ operation: each, version, key: key(), query: [], ...write }];
    });
  return [
    ...ex.versions.flatMap((version) =>
      asks(version, version, () => ex.draw.one(['none', ...SURELY_WRONG_KEYS] as const)),
    ),
    ...asks(ex.newest, NEWEST_VERSION, () => 'none'),
    ...asks(ex.newest, NEWEST_VERSION, () => ex.draw.one(SURELY_WRONG_KEYS) ?? 'changed'),
    ...(ended === undefined ? [] : asks(ended, NEWEST_VERSION, () => 'full')),
  ];
}

function bodyOf(
  { id }: Operation,
  { writes, types, devices, groups }: World,
  staged: KnownRecord | undefined,
): Pick<Ask, 'ids' | 'body'> | undefined {
  const made = writes.bodies.get(id);
  if (made !== undefined) return { ids: [], body: writes.renewed(made) };
  const name = writes.names.next();
  const changes: Readonly<Record<string, readonly [KnownRecord | undefined, object]>> = {
    updateDevice: [devices[0], { name }],
    pingDevice: [devices[0], { timeout_nanos: MILLISECOND_NANOS }],
    updateConfigType: [types[0], { name }],
    updateGroup: [groups.at(-1), { name }],
    moveGroup: [groups.at(-1), { parent_id: null }],
    archiveDeployment: [staged, {}],
  };
  const [record, body] = changes[id] ?? [];
  if (id === 'createProvisioningToken') return { ids: [], body: {} };
  return record && { ids: [record.id], body };
}

const PINGS = 3;
/** Timeouts of pings in nanoseconds; section 2.5 of the specification allows up to 10 seconds. */
const TIMEOUTS = [5000, 1000, 10_000].map((ms) => ms * MILLISECOND_NANOS);

export async function pings(ex: Explorer, offline: string | undefined): Promise<void> {
  const { t } = ex;
  const ping = (device: string, key: Ask['key'], version: string, nanos: number) =>
    ex.look({
      operation: operation('pingDevice'),
      version,
      key,
      ids: [device],
      query: [],
      body: { timeout_nanos: nanos },
    });
  for (const version of ex.versions) {
    const device = t.onlineDevice ?? offline ?? ex.model.of('device')[0]?.id;
    if (device === undefined) return;
    const { status } = await ping(offline ?? device, 'full', version, MILLISECOND_NANOS);
    if (status === 401 || status === 403) return void ex.notes.push(`the API key may not ping (${status})`);
    await ping(device, 'none', version, MILLISECOND_NANOS);
    if (t.limitedKey !== undefined) await ping(device, 'limited', version, MILLISECOND_NANOS);
    if (t.onlineDevice === undefined) continue;
    const answers = new Map<number, Exchange>();
    for (const nanos of TIMEOUTS) {
      let exchange = await ping(t.onlineDevice, 'full', version, nanos);
      // Pings again, because a message to a device may get lost without fault of the platform.
      for (let times = 1; times < PINGS && pingCode(exchange) !== 'success'; times += 1)
        exchange = await ping(t.onlineDevice, 'full', version, nanos);
      answers.set(nanos, exchange);
    }
    const [accepted] = [...answers].find(([, each]) => pingCode(each) === 'success') ?? [];
    for (const each of answers.values()) {
      if (pingCode(each) === 'success' || !(ok(each) || refused(each))) continue;
      // Pings once more, because a device that has gone offline explains the refusal.
      const next = accepted && refused(each) ? await ping(t.onlineDevice, 'full', version, accepted) : undefined;
      if (refused(each) && (next === undefined || pingCode(next) !== 'success')) continue;
      const expected = 'code success from an online device, whatever its timeout up to 10 s';
      return ex.hold(each, false, { what: 'shape', path: '/code' }, expected, pingCode(each) ?? each.status);
    }
  }
}
