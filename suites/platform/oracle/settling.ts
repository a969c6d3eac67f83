/** Repeats doubtful requests for longer than a cache lasts; caches and other clients may explain a finding. */
import { setTimeout as sleep } from 'node:timers/promises';
import { NoAnswer } from '../../../harness/client/errors.ts';
import type { ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { RESOURCES } from '../../../harness/contract/platform/operations.ts';
import { containsValue, isSame } from '../../../harness/runner/explore.ts';
import { Blocked, TooLittleSeen } from '../../../harness/runner/violation.ts';
import { type Item, type Page, resources } from '../support/lists.ts';
import { ok } from '../support/requests.ts';
import { decide } from './decides.ts';
import { causeOf, type Difference } from './differences.ts';
import { servedLists } from './directed.ts';
import { askFor, askOf, describeAsk, type Exchange, seenIn } from './exchange.ts';
import { type Explorer, firstMoved, getOf, itemsOf } from './explorer.ts';
import { HOLDINGS } from './kinds.ts';
import { filtersOf, readingsOf, requestedItems } from './lists.ts';
import type { KnownRecord } from './model.ts';

/** Minimum milliseconds of repetition; a cache may last one second. */
const CACHED_MS = 1100;
/** Total milliseconds of repetition after which reads are no longer assumed to lag behind writes. */
const MOST_LAG_MS = 30_000;
/** Minimum milliseconds of repetition if other findings have already failed the requirements. */
const ALREADY_FAILED_MS = 100;
const READ_AGAIN = 3;
const MOST_CHANGES = 6;
const PAGE: ReadonlySet<string> = new Set(['limit', 'offset']);
const LIST_WHATS: ReadonlySet<string> = new Set(['items', 'more', 'count', 'filter', 'order', 'offset']);

export async function settle(ex: Explorer): Promise<void> {
  const suspects = [...ex.suspects.values()];
  ex.suspects.clear();
  await Promise.all(suspects.map((suspect) => settleOne(ex, suspect)));
}

async function settleOne(ex: Explorer, suspect: Difference): Promise<void> {
  const began = performance.now();
  const { ids, level } = decide(suspect);
  const failed = new Set([...ex.found.values()].map(decide).flatMap((one) => (one.level === level ? one.ids : [])));
  const isFailed = ids.every((id) => failed.has(id));
  // Waits longer while reads may lag behind writes, because no section states how soon a read shows a write.
  const mayLag = ex.laggedMs < MOST_LAG_MS;
  const leastMs = isFailed ? ALREADY_FAILED_MS : mayLag ? Math.max(CACHED_MS, ex.t.patienceMs / 2) : CACHED_MS;
  let stands = 0;
  let changes = 0;
  for (let pauseMs = 50; ; pauseMs *= 2) {
    ex.t.signal.throwIfAborted();
    const still = await reread(ex, suspect);
    if (still === undefined) return;
    if (still === 'changing') changes += 1;
    if (changes > MOST_CHANGES)
      return void ex.notes.push(`${describeAsk(suspect.exchange)} changed during every attempt`);
    stands = still === 'changing' ? 0 : stands + 1;
    const tookMs = performance.now() - began;
    if (still !== 'changing' && stands > 1 && tookMs >= leastMs) {
      ex.laggedMs += tookMs;
      return ex.confirm(still);
    }
    await sleep(Math.min(pauseMs, CACHED_MS / 2), undefined, { signal: ex.t.signal });
  }
}

async function reread(ex: Explorer, suspect: Difference): Promise<Difference | 'changing' | undefined> {
  const { exchange, what, member, restsOn } = suspect;
  const deployment = ex.model.known(restsOn, 'deployment');
  if (deployment !== undefined) await learnAgain(ex, deployment);
  if (what === 'unstable') return await stillUnstable(ex, suspect);
  if (what === 'unlisted') {
    const kind = exchange.operation.kind as ResourceKind;
    await ex.walk(kind);
    const { reference } = ex.model.list(kind);
    return reference?.isWhole === true && !reference.ids.includes(suspect.id ?? '') ? suspect : undefined;
  }
  if (exchange.operation.list === true && LIST_WHATS.has(what)) return listAgain(ex, suspect);
  const record = ex.model.known(suspect.id, suspect.kind);
  const isOfMember = what === 'value' || what === 'effect';
  if (record === undefined || member === undefined || !isOfMember) return sameAgain(ex, suspect);
  const known = record.members.get(member);
  if (known === undefined) return undefined;
  const now = await valueNow(ex, record, member);
  if (now !== undefined && !isSame(now.value, known.value) && !containsValue(known.value, now.value)) {
    // A platform may put a new device into a group of its own choice.
    const isChosen = member === 'group_id' && ex.model.known(String(now.value), 'group')?.isOurs !== true;
    const isHeld = record.isOurs && !isChosen && HOLDINGS[record.kind].get(member) !== 'timely';
    const shows = exchange.operation.method === 'GET' ? suspect : { exchange: now.exchange, actual: now.value };
    const effect = { ...suspect, ...shows };
    if (known.predicted === true) return { ...effect, what: 'effect' };
    if (isHeld) return { ...effect, what: 'side-effect' };
    record.members.set(member, { value: now.value, seen: seenIn(now.exchange), ask: now.ask });
  }
  if (exchange.operation.method !== 'GET')
    return isSame(record.members.get(member)?.value, suspect.actual) ? undefined : suspect;
  return sameAgain(ex, suspect);
}

async function learnAgain(ex: Explorer, record: KnownRecord): Promise<void> {
  const ask = askFor(getOf(record.kind), ex.newest, [record.id]);
  const exchange = await ex.send(ask);
  const shown = findIn(ex, exchange, record);
  for (const [name, known] of record.members)
    if (HOLDINGS[record.kind].get(name) === 'timely' && shown !== undefined && name in shown)
      record.members.set(name, { ...known, value: shown[name], seen: seenIn(exchange), ask });
}

async function valueNow(ex: Explorer, record: KnownRecord, member: string) {
  const { id, kind, members } = record;
  const before = members.get(member)?.ask;
  const query = member in RESOURCES[kind].expansions ? ([['expand', member]] as const) : [];
  const asks = [askFor(getOf(kind), ex.newest, [id], { query })];
  if (before?.operation.method === 'GET') asks.unshift(before);
  for (const ask of asks) {
    const exchange = await ex.send(ask);
    const shown = findIn(ex, exchange, record);
    if (shown !== undefined && member in shown) return { value: keptValue(shown[member]), exchange, ask };
  }
  return undefined;
}

async function sameAgain(ex: Explorer, suspect: Difference): Promise<Difference | undefined> {
  if (suspect.exchange.operation.method !== 'GET') return suspect;
  const exchange = await ex.send(askOf(suspect.exchange));
  if (exchange.isExcused === true) return undefined;
  if (suspect.what === 'silent') return exchange.status === 0 ? { ...suspect, exchange } : undefined;
  if (suspect.what !== 'refused') return sameIn(ex, suspect, exchange);
  if (ok(exchange) || (await isGone(ex, exchange))) return undefined;
  const lists = exchange.key === 'full' && isDenied(exchange) ? servedLists(ex) : [];
  const answers = await Promise.all(lists.map((list) => ex.send(askFor(list, ex.newest))));
  // The key may have expired, or many wrong keys may have locked this address out.
  if (answers.length > 0 && answers.every(isDenied))
    throw new TooLittleSeen('the platform no longer accepts the API key');
  return { ...suspect, exchange };
}

export const isDenied = ({ status }: Exchange): boolean => status === 401 || status === 403;

const sameIn = (ex: Explorer, suspect: Difference, exchange: Exchange): Difference | undefined =>
  ex.judge(exchange).find((each) => causeOf(each) === causeOf(suspect) && each.id === suspect.id);

export async function connectionOf(ex: Explorer, found: Difference): Promise<string> {
  const { exchange } = found;
  const { isKept = false } = exchange;
  if (exchange.operation.method !== 'GET' || found.what === 'silent') return '';
  const isFoundOn = async (kept: boolean): Promise<boolean> =>
    (await sameAgain(ex, { ...found, exchange: { ...exchange, isKept: kept } })) !== undefined;
  try {
    if ((await isFoundOn(!isKept)) || !(await isFoundOn(isKept))) return '';
  } catch (error) {
    // Keeps the finding if the platform no longer answers.
    ex.t.signal.throwIfAborted();
    if (error instanceof NoAnswer || error instanceof Blocked || error instanceof TooLittleSeen) return '';
    throw error;
  }
  return isKept ? ' on a connection that was used before' : ' on a new connection';
}

async function isGone(ex: Explorer, { operation: { kind }, ids: [id] }: Exchange): Promise<boolean> {
  if (id === undefined || kind === undefined || ex.model.known(id, kind)?.isOurs === true) return false;
  const read = getOf(kind);
  const versions = ex.versions.filter((version) => ex.has(version, read));
  const answers = await Promise.all(versions.map((version) => ex.send(askFor(read, version, [id]))));
  return !answers.some(ok);
}

async function listAgain(ex: Explorer, suspect: Difference): Promise<Difference | 'changing' | undefined> {
  const { kind } = suspect.exchange.operation;
  if (kind === undefined) return undefined;
  const list = ex.model.list(kind);
  // Compares the requested items too, because states may change while the ids stay.
  const reference = async (): Promise<string | undefined> => {
    await ex.walk(kind);
    const requested = requestedItems(list, suspect.exchange)?.map(({ id }) => id);
    return list.reference && `${list.reference.ids.join()} ${requested?.join()}`;
  };
  const before = await reference();
  const [[filter = '', value] = []] = filtersOf(suspect.exchange);
  const other = list.reference?.items.map(({ [filter]: each }) => String(each)).find((each) => each !== value);
  const others = suspect.exchange.query.map(([name, each]) => [name, name === filter ? (other ?? '') : each] as const);
  // Asks for another value before, because a cache may take one for the other.
  if (value !== undefined && other !== undefined) await ex.send({ ...askOf(suspect.exchange), query: others });
  const exchange = await ex.send(askOf(suspect.exchange));
  const query = [...suspect.exchange.query.filter(([name]) => !PAGE.has(name)), ['limit', '100'] as const];
  const isFiltered = suspect.what !== 'filter' && filtersOf(suspect.exchange).length > 0;
  const whole = isFiltered ? await ex.send({ ...askOf(suspect.exchange), query }) : undefined;
  // Resets `isStale`, which a walk for another suspect of the list may have set; otherwise the page is not compared.
  list.isStale = false;
  const again = sameIn(ex, suspect, exchange);
  // Accepts a filter that matches more, such as parts of a name, because no section states how filters match.
  const isOther = whole !== undefined && ex.judge(whole).some(({ what }) => what === 'filter');
  const after = await reference();
  if (again === undefined) return undefined;
  if (before === undefined || before !== after) return 'changing';
  if (isOther) return undefined;
  return suspect.path.startsWith('/data place') ? walkAgain(ex, again) : again;
}

/** Expects each item once on consecutive pages; no section states an order. */
async function walkAgain(ex: Explorer, suspect: Difference): Promise<Difference | undefined> {
  const { kind } = suspect.exchange.operation;
  const list = ex.model.list(kind as ResourceKind);
  const limit = Number((suspect.exchange.json as Page).limit);
  const rest = suspect.exchange.query.filter(([name]) => !PAGE.has(name));
  const lengths = readingsOf(ex.model, list, suspect.exchange).map(({ length }) => length);
  const [total = 0] = lengths;
  const seen: string[] = [];
  // A raw query would override the limit and offset of each page.
  const { rawQuery: _, ...ask } = askOf(suspect.exchange);
  for (let offset = 0; offset < total && limit > 0; offset += limit) {
    const query = [...rest, ['limit', String(limit)], ['offset', String(offset)]] as const;
    const exchange = await ex.send({ ...ask, query });
    if (!ok(exchange)) return undefined;
    seen.push(...itemsOf(exchange).map(({ id }) => id));
  }
  const isOnce = new Set(seen).size === seen.length && lengths.includes(seen.length);
  if (!isOnce) return { ...suspect, expected: `each of ${total} items once, walking with limit ${limit}` };
  list.isUnordered = true;
  return undefined;
}

async function stillUnstable(ex: Explorer, suspect: Difference): Promise<Difference | undefined> {
  const kind = suspect.exchange.operation.kind as ResourceKind;
  const list = ex.model.list(kind);
  for (let times = 0; times < READ_AGAIN; times += 1) {
    const before = list.reference?.ids ?? [];
    await ex.walk(kind);
    if (firstMoved(before, list.reference?.ids ?? []) === undefined) continue;
    list.isUnordered = true;
    return suspect;
  }
  return undefined;
}

function findIn(ex: Explorer, exchange: Exchange, { id, kind }: KnownRecord): Item | undefined {
  if (!ok(exchange)) return undefined;
  // Searches items apart from their envelope, whose `object` may be missing.
  const found = [exchange.json, Object(exchange.json).data].flatMap((each) => [...resources(each)]);
  return found.find((each) => each.id === id && each['object'] === ex.model.wordOf(kind));
}

const keptValue = (value: unknown): unknown => {
  if (Array.isArray(value) && value.every((each) => typeof each === 'object' && each !== null && 'object' in each))
    return value.map((each) => (each as { id: unknown }).id).sort();
  if (typeof value === 'object' && value !== null && 'object' in value && 'id' in value) return value.id;
  return value;
};
