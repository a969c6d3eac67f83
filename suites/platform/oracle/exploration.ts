/** One exploration of a platform: plain reads, then writes, then random sequences of commands and reads. */
import { inVersion, type ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { operationsOf, RESOURCES } from '../../../harness/contract/platform/operations.ts';
import type { SupportedVersion } from '../../../harness/contract/versions.ts';
import { mayWrite } from '../support/create.ts';
import type { Page } from '../support/lists.ts';
import { ok } from '../support/requests.ts';
import { filtersAndOrders, pagesOutOfRange, refusals, walks } from './directed.ts';
import { type Ask, type Exchange, pairs } from './exchange.ts';
import { type Explorer, listOf } from './explorer.ts';
import { pings, refuseWrites } from './forbidden-writes.ts';
import { anyRead } from './reads.ts';
import { settle } from './settling.ts';
import { whatVersionsBrought } from './version-writes.ts';
import { AT_ONCE, eachCommand, fillOneList, makeWorld, readAll, runSequence } from './world.ts';

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

async function* inSteps(ex: Explorer, asks: readonly Ask[]): AsyncGenerator<void, void> {
  for (let at = 0; at < asks.length; at += ASKED_IN_A_STEP) {
    if (ex.budget.isLate) return void ex.notes.push(`answers are slow: ${at} of ${asks.length} requests were made`);
    await readAll(ex, asks.slice(at, at + ASKED_IN_A_STEP));
    yield;
  }
}

const itemsOf = (exchange: Exchange): Page['data'] =>
  ok(exchange) ? ((exchange.json as Page | undefined)?.data ?? []) : [];

const readList = (ex: Explorer, kind: ResourceKind, query: Ask['query']): Promise<Exchange> =>
  ex.send({ operation: listOf(kind), version: ex.newest, key: 'full', ids: [], query });

/** Finds out by which members a platform filters and orders a list, because a platform may do neither. */
async function probe(ex: Explorer, kind: ResourceKind): Promise<void> {
  const list = ex.model.list(kind);
  const { ids = [], items = [] } = list.reference ?? {};
  if (ids.length < 2) return;
  const idsOf = async (name: string, value: string): Promise<string[]> =>
    itemsOf(await readList(ex, kind, pairs({ limit: 100, [name]: value }))).map(({ id }) => id);
  const takesEffect = async (name: string): Promise<boolean> => {
    const value = items.map((item) => item[name]).find((each) => typeof each === 'string');
    const due = items.filter((item) => item[name] === value).map(({ id }) => id);
    if (typeof value !== 'string' || due.length === items.length) return false;
    return (await idsOf(name, value)).join() === due.slice(0, 100).join();
  };
  const filters = Object.entries(RESOURCES[kind].filters).flatMap(([name, span]) =>
    inVersion(span, ex.newest) ? [name] : [],
  );
  // Expects every filter of a platform that filters by id, so that a failing filter becomes a finding.
  const isById = await takesEffect('id');
  for (const name of filters) if (isById || (await takesEffect(name))) list.filters.add(name);
  const [up, down] = [await idsOf('order_by', 'id:asc'), await idsOf('order_by', 'id:desc')];
  const isWhole = up.length === Math.min(ids.length, 100);
  list.orders = isWhole && up.toReversed().join() === down.join() && up.join() !== down.join();
}

/** Finds out how a request may name several expansions; the published document repeats `expand`. */
async function probeNotations(ex: Explorer, kinds: readonly ResourceKind[]): Promise<void> {
  for (const kind of kinds) {
    const names = Object.keys(RESOURCES[kind].expansions);
    const shownIn = (exchange: Exchange): string =>
      names.filter((name) => itemsOf(exchange).some((item) => Boolean(item[name]))).join();
    const shown = async (...query: Ask['query']): Promise<string> => shownIn(await readList(ex, kind, query));
    const servedAlone = async (): Promise<string[]> => {
      const alone = await Promise.all(names.map((name) => shown(['expand', name])));
      return names.filter((name, place) => alone[place]?.split(',').includes(name));
    };
    const [one, other] = await servedAlone();
    if (one === undefined || other === undefined) continue;
    const both = [one, other].join();
    const inOrder = (first: string, second: string): Promise<Exchange> =>
      readList(ex, kind, [
        ['expand', first],
        ['expand', second],
      ]);
    const repeated = [await inOrder(one, other), await inOrder(other, one)];
    const isBoth = (names: readonly string[]): boolean => names.includes(one) && names.includes(other);
    const wrong = repeated.find((exchange) => !isBoth(shownIn(exchange).split(',')));
    if (wrong === undefined) ex.model.notations.add('repeated');
    else if (isBoth(await servedAlone()))
      ex.hold(wrong, false, { what: 'expansion', path: '?expand' }, `${both}, as expand may repeat`, shownIn(wrong));
    if ((await shown(['expand[]', one])) === one) ex.model.notations.add('bracketed');
    if ((await shown(['expand', `${other},${one}`])) === both) ex.model.notations.add('with commas');
    return;
  }
}

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

function unlike(ex: Explorer, kind: ResourceKind): string[] {
  const byStates = new Map<string, string>();
  for (const { id, members } of ex.model.of(kind)) {
    const states = STATES.map((name) => members.get(name)?.value).join();
    if (!byStates.has(states)) byStates.set(states, id);
  }
  return [...byStates.values()].slice(0, 8);
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
  await readAll(
    ex,
    drawn.map(({ ask }) => ask),
  );
}
