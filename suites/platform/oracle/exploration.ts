/** One exploration of a platform: plain reads, writes, then short sequences of commands with reads between them. */
import { inVersion, type ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { operationsOf, RESOURCES } from '../../../harness/contract/platform/operations.ts';
import type { SupportedVersion } from '../../../harness/contract/versions.ts';
import { mayWrite } from '../support/create.ts';
import type { Page } from '../support/lists.ts';
import { ok } from '../support/requests.ts';
import { filtersAndOrders, pagesOutOfRange, refusals, walks } from './directed.ts';
import { type Ask, pairs } from './exchange.ts';
import { type Explorer, listOf } from './explorer.ts';
import { pings, refuseWrites } from './forbidden.ts';
import { anyRead } from './reads.ts';
import { whatVersionsBrought } from './required.ts';
import { settle } from './settling.ts';
import { AT_ONCE, eachCommand, fillOneList, makeWorld, readAll, runSequence } from './world.ts';

/** Sends the requests that requirements name, then drawn ones; a check may stop after each step. */
export async function* explore(ex: Explorer): AsyncGenerator<void, void> {
  const { t, draw } = ex;
  const kinds = (Object.keys(RESOURCES) as ResourceKind[]).filter((kind) => ex.has(ex.newest, listOf(kind)));
  const walkAll = () => Promise.all(kinds.map((kind) => ex.walk(kind)));
  await walkAll();
  yield;
  await Promise.all(kinds.map((kind) => probe(ex, kind)));
  await probeForms(ex, kinds);
  for (const version of ex.versions) yield* inSteps(ex, plainReads(ex, version));
  const world = mayWrite(t) ? await makeWorld(ex) : undefined;
  if (world !== undefined) ex.tidy = () => world.writes.tidy();
  yield;
  if (world !== undefined) {
    yield* whatVersionsBrought(ex, world);
    yield* eachCommand(ex, world);
    await fillOneList(ex, world);
    await walkAll();
  }
  yield;
  yield* inSteps(ex, draw.shuffled([...pagesOutOfRange(ex), ...walks(ex), ...filtersAndOrders(ex)]));
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
}

const ASKED_IN_A_STEP = 48;

/** Asks as long as the budget allows. */
async function* inSteps(ex: Explorer, asks: readonly Ask[]): AsyncGenerator<void, void> {
  for (let at = 0; at < asks.length; at += ASKED_IN_A_STEP) {
    if (ex.budget.isLate) return void ex.notes.push(`answers are slow: ${at} of ${asks.length} requests were made`);
    await readAll(ex, asks.slice(at, at + ASKED_IN_A_STEP));
    yield;
  }
}

/** Items of a list in the newest version. */
async function listed(ex: Explorer, kind: ResourceKind, query: Ask['query']): Promise<Page['data']> {
  const exchange = await ex.send({ operation: listOf(kind), version: ex.newest, key: 'full', ids: [], query });
  return ok(exchange) ? ((exchange.json as Page | undefined)?.data ?? []) : [];
}

/** Learns whether filters and orders take effect: a platform may have none. */
async function probe(ex: Explorer, kind: ResourceKind): Promise<void> {
  const list = ex.model.list(kind);
  const { ids = [] } = list.reference ?? {};
  const [first = ''] = ids;
  if (ids.length < 2) return;
  const idsOf = async (name: string, value: string): Promise<string[]> =>
    (await listed(ex, kind, pairs({ limit: 100, [name]: value }))).map(({ id }) => id);
  list.filters = (await idsOf('id', first)).join() === first;
  const [up, down] = [await idsOf('order_by', 'id:asc'), await idsOf('order_by', 'id:desc')];
  const isWhole = up.length === Math.min(ids.length, 100);
  list.orders = isWhole && up.toReversed().join() === down.join() && up.join() !== down.join();
}

/** Learns from one kind of record which notations of several expansions work. */
async function probeForms(ex: Explorer, kinds: readonly ResourceKind[]): Promise<void> {
  for (const kind of kinds) {
    const names = Object.keys(RESOURCES[kind].expansions);
    const shown = async (...query: Ask['query']): Promise<string> => {
      const data = await listed(ex, kind, query);
      return names.filter((name) => data.some((item) => Boolean(item[name]))).join();
    };
    const alone = await Promise.all(names.map((name) => shown(['expand', name])));
    const [one, other] = names.filter((name, place) => alone[place]?.split(',').includes(name));
    if (one === undefined || other === undefined) continue;
    const both = [one, other].join();
    const isRepeated = (await shown(['expand', one], ['expand', other])) === both;
    if (isRepeated && (await shown(['expand', other], ['expand', one])) === both) ex.model.forms.add('repeated');
    if ((await shown(['expand[]', one])) === one) ex.model.forms.add('bracketed');
    if ((await shown(['expand', `${other},${one}`])) === both) ex.model.forms.add('with commas');
    return;
  }
}

/** Reads of each list, and of records that differ in their states, in one version. */
function plainReads(ex: Explorer, version: SupportedVersion): Ask[] {
  return operationsOf(version)
    .filter(({ method, kind, sub }) => method === 'GET' && kind !== undefined && sub !== true)
    .flatMap((each): Ask[] => {
      const base = { operation: each, version, key: 'full', query: [] } as const;
      const kind = each.kind as ResourceKind;
      const expansions = Object.entries(RESOURCES[kind].expansions).filter(([, span]) => inVersion(span, version));
      if (each.list === true)
        return [[], ...expansions.map(([name]) => [['expand', name]] as const)].map((query) => ({
          ...{ ...base, ids: [], query },
        }));
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

/** Ids of records whose states differ. */
function unlike(ex: Explorer, kind: ResourceKind): string[] {
  const byStates = new Map<string, string>();
  for (const { id, members } of ex.model.of(kind)) {
    const states = STATES.map((name) => members.get(name)?.value).join();
    if (!byStates.has(states)) byStates.set(states, id);
  }
  return [...byStates.values()].slice(0, 8);
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
