/** One exploration: plain reads, writes, odd pages, pings, requests to be refused, then random sequences. */

import { isObject } from '../../../harness/common/lenient.ts';
import { inVersion, type Operation, type ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { operationsOf, RESOURCES } from '../../../harness/contract/platform/operations.ts';
import { END_OF_LIFE_VERSIONS, NEWEST_VERSION, type SupportedVersion } from '../../../harness/contract/versions.ts';
import { mayWrite } from '../support/create.ts';
import { MILLISECOND_NANOS, pingCode } from '../support/ping.ts';
import { NOT_SERVED, ok } from '../support/requests.ts';
import { filtersAndOrders, pagesOutOfRange, refusals, walks } from './directed.ts';
import { type Ask, askFor, type Exchange, pairs, SURELY_WRONG_KEYS } from './exchange.ts';
import { type Explorer, getOf, itemsOf, listOf, operation } from './explorer.ts';
import type { KnownRecord } from './model.ts';
import { anyRead } from './reads.ts';
import { dueRefusal } from './refusals.ts';
import { isDenied, settle } from './settling.ts';
import { whatVersionsBrought } from './version-writes.ts';
import { AT_ONCE, eachCommand, fillOneList, makeWorld, readAll, runSequence, type World } from './world.ts';

export async function* explore(ex: Explorer): AsyncGenerator<void, void> {
  const { t, draw } = ex;
  const kinds = (Object.keys(RESOURCES) as ResourceKind[]).filter((kind) => ex.has(ex.newest, listOf(kind)));
  const walkAll = () => Promise.all(kinds.map((kind) => ex.walk(kind)));
  await walkAll();
  yield;
  await Promise.all(kinds.map((kind) => probe(ex, kind)));
  await probeNotations(ex, kinds);
  for (const version of ex.versions) yield* inSteps(ex, plainReads(ex, version));
  const world = mayWrite(t) ? await makeWorld(ex) : undefined;
  if (world !== undefined) ex.tidy = () => world.writes.tidy();
  yield;
  if (world !== undefined) {
    yield* whatVersionsBrought(ex, world);
    yield* eachCommand(ex, world);
    await fillOneList(ex, world);
  }
  // Walks the lists again even if nothing was written, because only a second walk shows whether an order is stable.
  await walkAll();
  yield;
  yield* inSteps(ex, draw.shuffled([...pagesOutOfRange(ex), ...walks(ex)]));
  // Does not shuffle: two values of one filter follow each other, to find a cache that takes one for the other.
  yield* inSteps(ex, filtersAndOrders(ex));
  if (!t.readOnly) await pings(ex, t.offlineDevice ?? world?.devices[0]?.id);
  yield;
  yield* inSteps(ex, draw.shuffled(refusals(ex)));
  ex.over.add('refusals');
  yield;
  if (world !== undefined) yield* refuseWrites(ex, world);
  ex.over.add('refuseWrites');
  yield;
  while (!ex.budget.isOver) {
    await settle(ex);
    if (world !== undefined) await runSequence(ex, world);
    for (let round = 0; round < 4; round += 1) await readAny(ex);
    yield;
  }
  await ex.tidy();
  ex.over.add('end');
}

const ASKED_IN_A_STEP = 48;

async function* inSteps(ex: Explorer, asks: readonly Ask[]): AsyncGenerator<void, void> {
  for (let at = 0; at < asks.length; at += ASKED_IN_A_STEP) {
    if (ex.budget.isLate) return void ex.notes.push(`answers are slow: ${at} of ${asks.length} requests were made`);
    await readAll(ex, asks.slice(at, at + ASKED_IN_A_STEP));
    yield;
  }
}

const readList = (ex: Explorer, kind: ResourceKind, query: Ask['query']): Promise<Exchange> =>
  ex.send(askFor(listOf(kind), ex.newest, [], { query }));

/** Finds the members by which a platform filters and orders; it may do neither. */
async function probe(ex: Explorer, kind: ResourceKind): Promise<void> {
  const list = ex.model.list(kind);
  const { ids = [], items = [] } = list.reference ?? {};
  if (ids.length < 2) return;
  const idsOf = async (name: string, value: string): Promise<string[]> =>
    itemsOf(await readList(ex, kind, pairs({ limit: 100, [name]: value }))).map(({ id }) => id);
  const takesEffect = async (name: string): Promise<boolean> => {
    const value = items.map((item) => item[name]).find((each) => typeof each === 'string');
    const matching = ids.filter((_, at) => items[at]?.[name] === value);
    const [due, all] = [matching, ids].map((each) => each.slice(0, 100).join());
    return typeof value === 'string' && due !== all && (await idsOf(name, value)).join() === due;
  };
  // Expects every filter of a platform that filters by id, so that a failing one is a finding.
  const isById = await takesEffect('id');
  for (const [name, span] of Object.entries(RESOURCES[kind].filters)) {
    if (!inVersion(span, ex.newest)) continue;
    const isSeen = name === 'id' ? isById : await takesEffect(name);
    if (isById || isSeen) list.filters.set(name, isSeen ? ex.newest : undefined);
  }
  const [up, down] = [await idsOf('order_by', 'id:asc'), await idsOf('order_by', 'id:desc')];
  const isWhole = up.length === Math.min(ids.length, 100);
  list.orders = isWhole && up.toReversed().join() === down.join() && up.join() !== down.join();
}

/** Finds how a request names several expansions; the published document repeats `expand`. */
async function probeNotations(ex: Explorer, kinds: readonly ResourceKind[]): Promise<void> {
  for (const kind of kinds) {
    const names = Object.keys(RESOURCES[kind].expansions);
    const read = (...query: Ask['query']): Promise<Exchange> => readList(ex, kind, query);
    const shownIn = (exchange: Exchange): string[] =>
      names.filter((name) => itemsOf(exchange).some((item) => Boolean(item[name])));
    const servedAlone = async (): Promise<string[]> => {
      const alone = await Promise.all(names.map((name) => read(['expand', name])));
      return names.filter((name, place) => alone[place] && shownIn(alone[place]).includes(name));
    };
    const [one, other] = await servedAlone();
    if (one === undefined || other === undefined) continue;
    const both = [one, other].join();
    const repeated = [await read(['expand', one], ['expand', other]), await read(['expand', other], ['expand', one])];
    const isBoth = (names: readonly string[]): boolean => names.includes(one) && names.includes(other);
    const wrong = repeated.find((exchange) => !isBoth(shownIn(exchange)));
    if (wrong === undefined) ex.model.notations.add('repeated');
    else if (isBoth(await servedAlone()))
      ex.hold(wrong, false, 'expansion', '?expand', `${both}, as expand may repeat`, shownIn(wrong).join());
    if (shownIn(await read(['expand[]', one])).join() === one) ex.model.notations.add('bracketed');
    if (shownIn(await read(['expand', `${other},${one}`])).join() === both) ex.model.notations.add('with commas');
    return;
  }
}

function plainReads(ex: Explorer, version: SupportedVersion): Ask[] {
  return operationsOf(version)
    .filter(({ method, kind }) => method === 'GET' && kind !== undefined)
    .flatMap((each): Ask[] => {
      const kind = each.kind as ResourceKind;
      const expansions = Object.entries(RESOURCES[kind].expansions).filter(([, span]) => inVersion(span, version));
      const queries = each.sub === true ? [] : expansions.map(([expand]) => pairs({ expand }));
      if (each.list === true && each.sub !== true)
        return [[], ...queries].map((query) => askFor(each, version, [], { query }));
      const ids = unlike(ex, kind);
      const [first] = ids;
      if (first === undefined) return [];
      return [
        ...ids.map((id) => askFor(each, version, [id])),
        ...queries.flatMap((query) => [first, ...active(ex, kind)].map((id) => askFor(each, version, [id], { query }))),
      ];
    });
}

function unlike(ex: Explorer, kind: ResourceKind): string[] {
  const statesOf = ({ members }: KnownRecord): string => STATES.map((name) => members.get(name)?.value).join();
  return [...Map.groupBy(ex.model.of(kind), statesOf).values()].slice(0, 8).flatMap(([first]) => first?.id ?? []);
}
const STATES = ['status', 'activity_status', 'error_status', 'target_status'];

function active(ex: Explorer, kind: ResourceKind): string[] {
  if (kind !== 'device') return [];
  const deployed = ex.model
    .of('deployment')
    .filter(({ members }) => members.get('activity_status')?.value === 'deployed');
  return [...new Set(deployed.map(({ members }) => String(members.get('device_id')?.value)))].slice(0, 2);
}

async function readAny(ex: Explorer): Promise<void> {
  const drawn = Array.from({ length: AT_ONCE }, () => anyRead(ex)).filter((each) => each !== undefined);
  for (const { cell } of drawn) ex.cells.visit(cell);
  const stale = new Set(drawn.flatMap(({ ask }) => (ask.operation.list === true ? [ask.operation.kind] : [])));
  for (const kind of stale) if (kind !== undefined && ex.model.list(kind).isStale) await ex.walk(kind);
  const asks = drawn.map(({ ask }) => ask);
  await readAll(ex, asks);
}

async function* refuseWrites(ex: Explorer, world: World): AsyncGenerator<void, void> {
  const { writes, devices, parts } = world;
  const stage = async (device: KnownRecord | undefined): Promise<KnownRecord | undefined> =>
    device && parts[0] && (await writes.deployment(ex.newest, { device, ...parts[0] }));
  const staged = await stage(devices[0]);
  const other = ex.t.limitedKey === undefined ? undefined : await stage(await writes.device(ex.newest));
  const asks = ex.draw.shuffled(forbiddenWrites(ex, world, staged, other));
  const sent = await readAll(ex, asks, (ask) =>
    ask.key === 'limited' ? ex.write(ask, ask.ids.length > 0 ? setBy(ask) : {}) : ex.look(ask),
  );
  ex.model.saw('writes without access', sent.length);
  if (sent.length < asks.length)
    ex.notes.push(`answers are slow: ${sent.length} of ${asks.length} writes without access were tried`);
  yield;
  const kinds = new Set(sent.flatMap(({ operation: { kind } }) => (kind === undefined ? [] : [kind])));
  await Promise.all([...kinds].map((kind) => ex.walk(kind)));
  const shown = new Map<string, Readonly<Record<string, unknown>>>();
  const touched = new Map(sent.map((each) => [`${each.operation.kind} ${each.ids[0]}`, each]));
  for (const [key, { ids, operation }] of touched) {
    if (ids.length === 0 || operation.kind === undefined || !ex.has(ex.newest, getOf(operation.kind))) continue;
    const { json } = await ex.send(askFor(getOf(operation.kind), ex.newest, ids));
    if (isObject(json)) shown.set(key, json);
  }
  for (const exchange of sent) holdUndone(ex, exchange, shown);
}

/** Members that actions without a body set. */
const ACTED: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  archiveDeployment: { target_status: 'archived' },
  deployDeployment: { target_status: 'deployed' },
};
const setBy = ({ operation, body }: Ask): Readonly<Record<string, unknown>> => ACTED[operation.id] ?? Object(body);

function holdUndone(ex: Explorer, exchange: Exchange, shown: ReadonlyMap<string, Readonly<Record<string, unknown>>>) {
  const { operation, ids, body } = exchange;
  const why = dueRefusal(exchange) ?? (isDenied(exchange) ? `it was refused with ${exchange.status}` : undefined);
  const { kind } = operation;
  if (kind === undefined || why === undefined) return;
  const record = shown.get(`${kind} ${ids[0]}`);
  const set = Object.entries(setBy(exchange));
  const known = ex.model.known(ids[0], kind)?.members;
  const marks = JSON.stringify(body ?? {}).match(/muster\w+x\d+|v\d+\.\d+\.0/g) ?? [];
  const made = ex.model
    .list(kind)
    .reference?.items.find((item) => marks.some((mark) => new RegExp(`${mark}(?!\\d)`).test(JSON.stringify(item))));
  const isChanged = set.some(([name, value]) => record?.[name] === value && known?.get(name)?.value !== value);
  const done = record === undefined ? made : isChanged ? record : undefined;
  const expected = `nothing to be carried out, since ${why}`;
  ex.hold(exchange, done === undefined, 'served', ` ${why}`, expected, done);
}

/** Operations tried with the limited key, which may have scopes for them; each changes nothing but its own record. */
const ALONE = /^(update|archive)|^create(?!Deployment)/;

/**
 * Writes of each version, valid except for the key or an ended version; `other`: deployment for the writes with the
 * limited key.
 */
function forbiddenWrites(ex: Explorer, world: World, staged?: KnownRecord, other?: KnownRecord): Ask[] {
  const asks = (version: string, has: SupportedVersion, key: () => Ask['key'], target = staged): Ask[] =>
    operationsOf(has).flatMap((each): Ask[] => {
      const write = each.method === 'GET' ? undefined : bodyOf(each, world, target);
      return write === undefined ? [] : [askFor(each, version, [], { key: key(), ...write })];
    });
  return [
    ...ex.versions.flatMap((version) =>
      asks(version, version, () => ex.draw.one(['none', ...SURELY_WRONG_KEYS] as const)),
    ),
    ...asks(ex.newest, NEWEST_VERSION, () => 'none'),
    ...asks(ex.newest, NEWEST_VERSION, () => ex.draw.one(SURELY_WRONG_KEYS) ?? 'changed'),
    ...END_OF_LIFE_VERSIONS.flatMap((ended) => asks(ended, NEWEST_VERSION, () => 'full')),
    ...(other ? asks(ex.newest, ex.newest, () => 'limited', other) : []).filter((ask) => ALONE.test(ask.operation.id)),
  ];
}

function bodyOf(
  { id }: Operation,
  { writes, types, devices, groups }: World,
  staged: KnownRecord | undefined,
): Pick<Ask, 'ids' | 'body'> | undefined {
  const made = writes.bodies.get(id);
  if (made !== undefined) return { ids: [], body: writes.renewed(made) };
  const name = writes.name();
  const on = (record: KnownRecord | undefined, body: object) => record && { ids: [record.id], body };
  const sha = Buffer.from(name).toString('hex').padEnd(40, '0').slice(0, 40);
  const bodies: Readonly<Record<string, ReturnType<typeof on>>> = {
    updateDevice: on(devices[0], { name }),
    pingDevice: on(devices[0], { timeout_nanos: MILLISECOND_NANOS }),
    updateConfigType: on(types[0], { name }),
    updateGroup: on(groups.at(-1), { name }),
    moveGroup: on(groups.at(-1), { parent_id: null }),
    archiveDeployment: on(staged, {}),
    deployDeployment: on(staged, {}),
    createDeviceActivationToken: on(devices[0], {}),
    createProvisioningToken: { ids: [], body: {} },
    createGitCommit: { ids: [], body: { sha, message: name, origin: 'https://github.com/example/configs.git' } },
  };
  return bodies[id];
}

/** Timeouts of pings in nanoseconds, up to 10 s (section 8); from 2^31 on, signed 32 bits do not hold them. */
const TIMEOUTS = [...[5000, 1000, 3000, 10_000].map((ms) => ms * MILLISECOND_NANOS), 2 ** 31, 2 ** 32];

export async function pings(ex: Explorer, offline: string | undefined): Promise<void> {
  const { t } = ex;
  const ping = (device: string, key: Ask['key'], version: string, nanos: number): Promise<Exchange> =>
    ex.look(askFor(operation('pingDevice'), version, [device], { key, body: { timeout_nanos: nanos } }));
  const answers: { version: string; nanos: number; exchange: Exchange }[] = [];
  for (const version of ex.versions) {
    const device = t.onlineDevice ?? offline ?? ex.model.of('device')[0]?.id;
    if (device === undefined) return;
    const { status } = await ping(offline ?? device, 'full', version, MILLISECOND_NANOS);
    if (answers.length === 0 && (status === 401 || status === 403))
      return void ex.notes.push(`the API key may not ping (${status})`);
    await ping(device, 'none', version, MILLISECOND_NANOS);
    if (t.limitedKey !== undefined) await ping(device, 'limited', version, MILLISECOND_NANOS);
    if (t.onlineDevice === undefined) continue;
    for (const nanos of TIMEOUTS) {
      let exchange = await ping(t.onlineDevice, 'full', version, nanos);
      // Repeats up to twice, because a message to a device may get lost without fault of the platform.
      for (let times = 1; times < 3 && pingCode(exchange) !== 'success'; times += 1)
        exchange = await ping(t.onlineDevice, 'full', version, nanos);
      answers.push({ version, nanos, exchange });
      if (pingCode(exchange) === 'success') ex.model.saw('pings that succeeded');
      // Gives up if no ping has succeeded yet and this one took half of its timeout or more: the device may be offline.
      const isOut = 2 * exchange.asked.duration_ms * MILLISECOND_NANOS >= nanos;
      if (isOut && !ex.model.counts.has('pings that succeeded'))
        return void ex.notes.push(`the online device ${t.onlineDevice} does not answer`);
    }
  }
  const succeeds = async ({ version, nanos }: { version: string; nanos: number }): Promise<boolean> =>
    pingCode(await ping(t.onlineDevice ?? '', 'full', version, nanos)) === 'success';
  const accepted = answers.find(({ exchange }) => pingCode(exchange) === 'success');
  const neededNanos = (accepted?.exchange.asked.duration_ms ?? 0) * MILLISECOND_NANOS;
  const served = new Set(
    answers.flatMap(({ version, exchange }) => (NOT_SERVED.includes(exchange.status) ? [] : version)),
  );
  for (const each of answers) {
    const { version, nanos, exchange } = each;
    if (pingCode(exchange) === 'success' || exchange.status === 0) continue;
    // A device on a slow link may need longer than a short timeout, and a version may lack pings.
    if (nanos <= 2 * neededNanos || !served.has(version)) continue;
    if (accepted === undefined && !ok(exchange)) continue;
    // A device that has gone offline, or that was busy, explains the answer.
    if (accepted !== undefined && !(await succeeds(accepted))) return;
    if (accepted !== undefined && (await succeeds(each))) continue;
    const expected = 'code success from an online device, whatever its timeout up to 10 s';
    const actual = pingCode(exchange) ?? exchange.status;
    return ex.hold(exchange, false, 'shape', '/code', expected, actual);
  }
}
