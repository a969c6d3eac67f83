/** One exploration of a platform: what is there, what is made, short sequences of commands, and reads between them. */
import { inVersion, type ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { operationsOf, RESOURCES } from '../../../harness/contract/platform/operations.ts';
import type { SupportedVersion } from '../../../harness/contract/versions.ts';
import type { Budget } from '../../../harness/runner/explore/budget.ts';
import { mayWrite } from '../support/create.ts';
import type { Page } from '../support/lists.ts';
import { ok, type Platform } from '../support/requests.ts';
import { pagesOutOfRange, refusals, walks } from './directed.ts';
import type { Ask } from './exchange.ts';
import { Explorer, listOf } from './explorer.ts';
import { forbiddenWrites, pings } from './forbidden.ts';
import { anyRead } from './reads.ts';
import { whatVersionsBrought } from './required.ts';
import { AT_ONCE, fillOneList, makeWorld, readAll, runSequence } from './world.ts';

export async function explore(t: Platform, seed: number, budget: Budget): Promise<Explorer> {
  const ex = new Explorer(t, seed, budget);
  await survey(ex);
  const world = mayWrite(t) ? await makeWorld(ex) : undefined;
  if (world !== undefined) await whatVersionsBrought(ex, world);
  if (world !== undefined) await fillOneList(ex, world);
  if (world !== undefined) await survey(ex, true);
  await readAll(ex, ex.draw.shuffled([...pagesOutOfRange(ex), ...walks(ex)]));
  const forbidden = world === undefined ? [] : forbiddenWrites(ex, world);
  if (!t.readOnly) await pings(ex, t.offlineDevice ?? world?.devices[0]?.id);
  const directed = ex.draw.shuffled([...refusals(ex), ...forbidden]);
  do {
    await ex.settle();
    if (world !== undefined) await runSequence(ex, world);
    await readAll(ex, directed.splice(0, DIRECTED_IN_A_ROUND));
    for (let round = 0; round < ROUNDS; round += 1) await readAny(ex);
  } while (!ex.budget.isOver);
  await world?.writes.tidy();
  await ex.settle();
  return ex;
}

const ROUNDS = 4;
const DIRECTED_IN_A_ROUND = 12;

/** Every list in every version, and one record of each read alone. */
async function survey(ex: Explorer, isAgain = false): Promise<void> {
  const kinds = (Object.keys(RESOURCES) as ResourceKind[]).filter((kind) => ex.has(ex.newest, listOf(kind)));
  await Promise.all(kinds.map((kind) => ex.walk(kind)));
  if (isAgain) return;
  await Promise.all(kinds.map((kind) => probe(ex, kind)));
  await probeForms(ex, kinds);
  const asks = ex.versions.flatMap((version) => plainReads(ex, version));
  await readAll(ex, asks);
}

/** Which filters and orders take effect at all: a platform may have none. */
async function probe(ex: Explorer, kind: ResourceKind): Promise<void> {
  const list = ex.model.list(kind);
  const { reference } = list;
  const [first] = reference?.ids ?? [];
  if (reference === undefined || first === undefined || reference.ids.length < 2) return;
  const base = { operation: listOf(kind), version: ex.newest, key: 'full', ids: [] } as const;
  const idsOf = async (name: string, value: string): Promise<string[]> => {
    const exchange = await ex.send({
      ...base,
      query: [
        ['limit', '100'],
        [name, value],
      ],
    });
    return ok(exchange) ? ((exchange.json as Page | undefined)?.data ?? []).map(({ id }) => id) : [];
  };
  list.filters = (await idsOf('id', first)).join() === first;
  const ids = reference.ids.slice(0, 100);
  const [up, down] = [await idsOf('order_by', 'id:asc'), await idsOf('order_by', 'id:desc')];
  list.orders = up.length === ids.length && up.toReversed().join() === down.join() && up.join() !== down.join();
}

/** In which ways several expansions can be written, as one kind of record shows. */
async function probeForms(ex: Explorer, kinds: readonly ResourceKind[]): Promise<void> {
  for (const kind of kinds) {
    const shown = async (query: Ask['query']): Promise<string[]> => {
      const ask: Ask = { operation: listOf(kind), version: ex.newest, key: 'full', ids: [], query };
      const exchange = await ex.send(ask);
      const data = ok(exchange) ? ((exchange.json as Page | undefined)?.data ?? []) : [];
      return Object.keys(RESOURCES[kind].expansions).filter((name) => data.some((item) => Boolean(item[name])));
    };
    const names = Object.keys(RESOURCES[kind].expansions);
    const alone = await Promise.all(names.map(async (name) => (await shown([['expand', name]])).includes(name)));
    const [one, other] = names.filter((_, place) => alone[place]);
    if (one === undefined || other === undefined) continue;
    const ways: readonly Ask['query'][] = [
      [
        ['expand', one],
        ['expand', other],
      ],
      [
        ['expand', other],
        ['expand', one],
      ],
      [['expand[]', one]],
      [['expand', `${other},${one}`]],
    ];
    const works = await Promise.all(ways.map(async (query) => (await shown(query)).join()));
    const both = [one, other].join();
    if (works[0] === both && works[1] === both) ex.model.forms.add('repeated');
    if (works[2] === one) ex.model.forms.add('bracketed');
    if (works[3] === both) ex.model.forms.add('with commas');
    return;
  }
}

/** Each list, and of its records those that differ in their states, in one version. */
function plainReads(ex: Explorer, version: SupportedVersion): Ask[] {
  return operationsOf(version)
    .filter(({ method, kind, sub }) => method === 'GET' && kind !== undefined && sub !== true)
    .flatMap((each): Ask[] => {
      const base = { operation: each, version, key: 'full', query: [] } as const;
      if (each.list === true) return [{ ...base, ids: [] }];
      const kind = each.kind as ResourceKind;
      const expansions = Object.entries(RESOURCES[kind].expansions).filter(([, span]) => inVersion(span, version));
      const [first, ...others] = unlike(ex, kind);
      if (first === undefined) return [];
      return [
        ...[first, ...others].map((id) => ({ ...base, ids: [id] })),
        ...expansions.flatMap(([name]) =>
          [first, ...active(ex, kind)].map((id) => ({ ...base, ids: [id], query: [['expand', name]] as const })),
        ),
      ];
    });
}

const MOST_UNLIKE = 8;

/** Ids of records whose states differ. */
function unlike(ex: Explorer, kind: ResourceKind): string[] {
  const byStates = new Map<string, string>();
  for (const { id, members } of ex.model.of(kind)) {
    const states = STATES.map((name) => members.get(name)?.value).join();
    if (!byStates.has(states)) byStates.set(states, id);
  }
  return [...byStates.values()].slice(0, MOST_UNLIKE);
}
const STATES = ['status', 'activity_status', 'error_status', 'target_status'];

/** Devices on which something is deployed. */
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
  await readAll(
    ex,
    drawn.map(({ ask }) => ask),
  );
}
