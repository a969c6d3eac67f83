/**
 * Asks a platform, and compares each whole answer with what is known of it. What others may have changed is asked again
 * before it is told.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { NoAnswer } from '../../../harness/client/errors.ts';
import type { HttpClient } from '../../../harness/client/http.ts';
import { Recorder } from '../../../harness/client/recorder.ts';
import type { Operation, ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { OPERATIONS, operationsOf } from '../../../harness/contract/platform/operations.ts';
import {
  atLeast,
  codenameOf,
  NEWEST_VERSION,
  SUPPORTED_VERSIONS,
  type SupportedVersion,
} from '../../../harness/contract/versions.ts';
import type { Budget } from '../../../harness/runner/explore/budget.ts';
import { Cells } from '../../../harness/runner/explore/cells.ts';
import { Draw } from '../../../harness/runner/explore/draw.ts';
import { holds, isSame } from '../../../harness/runner/explore/same.ts';
import type { Page } from '../support/lists.ts';
import { MILLISECOND_NANOS } from '../support/ping.ts';
import { ok, type Platform, send } from '../support/requests.ts';
import { type Ask, askOf, describeAsk, type Exchange, pathOf, queryOf, seenIn } from './exchange.ts';
import { causeOf, type Found } from './found.ts';
import { HOLDINGS } from './kinds.ts';
import { judgePage } from './lists.ts';
import { Model, type Shown } from './model.ts';
import { dueRefusal, judgeStatus } from './refusals.ts';
import { askedExpansions, judgeResource, placeOf } from './resources.ts';

export const operation = (id: string): Operation => OPERATIONS.find((each) => each.id === id) as Operation;
export const listOf = (kind: ResourceKind): Operation =>
  OPERATIONS.find((each) => each.kind === kind && each.list === true && each.sub !== true) as Operation;
export const getOf = (kind: ResourceKind): Operation | undefined =>
  OPERATIONS.find((each) => each.kind === kind && each.method === 'GET' && each.list !== true);

/** A cache may answer for the platform, a second late. */
const CACHED_MS = 1100;
const FIRST_PAUSE_MS = 50;

export class Explorer {
  readonly t: Platform;
  readonly model = new Model();
  readonly cells = new Cells();
  readonly draw: Draw;
  readonly budget: Budget;
  /** Supported versions that the target has, the newest first. */
  readonly versions: readonly SupportedVersion[];
  /** By cause. */
  readonly found = new Map<string, Found>();
  readonly notes: string[] = [];
  /** Writes that were refused in their plain form, with the answer. */
  readonly lacking = new Map<string, string>();
  #suspects = new Map<string, Found>();
  readonly #clients = new Map<string, HttpClient>();
  readonly #began = Date.now();
  /** Requests in a row that no answer came to. */
  #silences = 0;
  /** Created by this run: how far the platform's clock was from ours, milliseconds. */
  #clock: number | undefined;

  constructor(t: Platform, seed: number, budget: Budget) {
    this.t = t;
    this.draw = new Draw(seed);
    this.budget = budget;
    const declared = SUPPORTED_VERSIONS.filter(
      (version) => version === t.apiVersion || t.capabilities.has(codenameOf(version)),
    );
    this.versions = declared.toReversed();
  }

  get newest(): SupportedVersion {
    return this.versions[0] ?? NEWEST_VERSION;
  }

  has(version: string, operation: Operation): boolean {
    return operationsOf(version as SupportedVersion).some(({ id }) => id === operation.id);
  }

  atLeast = (version: string, codename: Parameters<typeof atLeast>[1]): boolean =>
    atLeast(version as SupportedVersion, codename);

  #client({ version, key }: Ask): HttpClient {
    const name = `${version} ${key}`;
    const known = this.#clients.get(name);
    if (known !== undefined) return known;
    const { t } = this;
    const rest = Object.fromEntries(Object.entries(t.http.headers).filter(([each]) => !/^x-api-key$/i.test(each)));
    const keys = { full: t.apiKey, limited: t.limitedKey, wrong: `${changed(t.apiKey)}`, none: undefined };
    const value = keys[key];
    if (value !== undefined) t.http.recorder.redactor.add(value);
    const headers = { ...rest, [t.versionHeader]: version, ...(value !== undefined && { 'X-API-Key': value }) };
    const client = t.http.with({ headers });
    this.#clients.set(name, client);
    return client;
  }

  /** Sends it, and asks again where the platform throttles. Undefined where no answer came. */
  async send(ask: Ask): Promise<Exchange> {
    this.budget.requests += 1;
    const { method } = ask.operation;
    const body = method === 'GET' ? undefined : (ask.body ?? {});
    const { recorder } = this.t.http;
    // Of hundreds of requests a finding shows those that it is about.
    const http = this.#client(ask).with({ recorder: new Recorder(recorder.redactor, recorder.happened) });
    const query = queryOf(ask);
    const { timeout_nanos: nanos = 0 } = (body ?? {}) as { timeout_nanos?: number };
    const request = {
      ...{ method, path: pathOf(ask), takesMs: nanos / MILLISECOND_NANOS },
      ...(query !== '' && { query }),
      ...(body !== undefined && { body }),
    };
    try {
      const { status, headers, json, text, recorded } = await send(this.t, request, http);
      this.#silences = 0;
      return { ...ask, status, headers, json, text, asked: recorded };
    } catch (error) {
      this.#silences += 1;
      const [asked] = http.recorder.exchanges;
      if (!(error instanceof NoAnswer) || asked === undefined || this.#silences > MOST_SILENCES) throw error;
      return { ...ask, status: 0, headers: {}, json: undefined, text: error.message, asked };
    }
  }

  /** The same, and judges the answer. */
  async look(ask: Ask): Promise<Exchange> {
    const exchange = await this.send(ask);
    this.note(this.judge(exchange));
    return exchange;
  }

  /** A write: what it sets is predicted from then on, and a refusal is adopted. `predicted`: members by name. */
  async write(ask: Ask, kind: ResourceKind, predicted: Readonly<Record<string, unknown>>): Promise<Exchange> {
    const sentAt = Date.now();
    const exchange = await this.send(ask);
    const { id, created_at: at } = (exchange.json ?? {}) as { id?: unknown; created_at?: unknown };
    if (ok(exchange) && typeof id === 'string') {
      const isNew = ask.ids.length === 0;
      const record = isNew ? this.model.made(id, kind) : this.model.record(id, kind);
      for (const [name, value] of Object.entries(predicted))
        record.members.set(name, { value, seen: seenIn(exchange), predicted: true });
      if (isNew) this.model.list(kind).isStale = true;
      if (isNew && typeof at === 'string') this.#created(exchange, kind, Date.parse(at) - sentAt);
    }
    this.note(this.judge(exchange));
    return exchange;
  }

  /** The platform's clock may be any, but is one. */
  #created(exchange: Exchange, kind: ResourceKind, ahead: number): void {
    this.#clock ??= ahead;
    if (Math.abs(ahead - this.#clock) <= CLOCK_MS + Date.now() - this.#began) return;
    const expected = 'the time at which it was created, by the clock of earlier records';
    const actual = `${Math.round((ahead - this.#clock) / 1000)} s from that`;
    const about = { kind, member: 'created_at', path: '/created_at', expected, actual, certain: true };
    this.note([{ what: 'value', exchange, ...about }]);
  }

  /** What the answer shows to be wrong. */
  judge(exchange: Exchange): Found[] {
    const { operation } = exchange;
    const answered = judgeStatus(this.model, exchange);
    if (!ok(exchange) || operation.kind === undefined || dueRefusal(exchange) !== undefined) return answered;
    return [...answered, ...this.#judgeBody(exchange, operation.kind)];
  }

  #judgeBody(exchange: Exchange, kind: ResourceKind): Found[] {
    const { operation, json } = exchange;
    const expand = askedExpansions(exchange);
    const place = placeOf(exchange);
    if (operation.list !== true) {
      const due = operation.path.includes('{') ? exchange.ids[0] : undefined;
      return judgeResource(this.model, exchange, json, { kind, path: '', name: place, expand, due });
    }
    const found = judgePage(this.model, exchange);
    if (found.some(({ what }) => what === 'envelope')) return found;
    const items = (json as Page).data.flatMap((item) =>
      judgeResource(this.model, exchange, item, { kind, path: '/data/-', name: 'list', expand }),
    );
    return [...found, ...items];
  }

  note(found: readonly Found[]): void {
    for (const each of found) {
      const cause = causeOf(each);
      if (this.found.has(cause)) this.#adopt(each);
      else if (each.certain) this.tell(each);
      else if (!this.#suspects.has(cause)) this.#suspects.set(cause, each);
    }
  }

  tell(found: Found): void {
    const cause = causeOf(found);
    if (!this.found.has(cause)) this.found.set(cause, found);
    this.#adopt(found);
  }

  /** What was told once is not told of each answer that follows from it. */
  #adopt({ what, id = '', kind, member, actual, exchange }: Found): void {
    if (what === 'envelope' && kind !== undefined) this.model.list(kind as ResourceKind).isStale = true;
    const record = this.model.records.get(id);
    if (record === undefined || member === undefined || !EFFECTS.has(what)) return;
    record.members.set(member, { value: actual, seen: seenIn(exchange), ask: askOf(exchange) });
  }

  /** Asks again about all that is in doubt, and tells what stays so for longer than a cache would last. */
  async settle(): Promise<void> {
    const suspects = [...this.#suspects.values()];
    this.#suspects = new Map();
    if (suspects.length === 0) return;
    await Promise.all(suspects.map((suspect) => this.#settle(suspect)));
  }

  async #settle(suspect: Found): Promise<void> {
    const began = performance.now();
    let stands = 0;
    let changes = 0;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 2) {
      this.t.signal.throwIfAborted();
      const still = await this.#again(suspect);
      if (still === undefined) return;
      if (still === 'changing') changes += 1;
      if (changes > MOST_CHANGES)
        return void this.notes.push(`${describeAsk(suspect.exchange)} changed during every attempt`);
      stands = still === 'changing' ? 0 : stands + 1;
      if (still !== 'changing' && stands > 1 && performance.now() - began >= CACHED_MS) return this.tell(still);
      await sleep(Math.min(pauseMs, CACHED_MS / 2), undefined, { signal: this.t.signal });
    }
  }

  /** The finding as it is now; undefined where it was a change that others made, or time. */
  async #again(suspect: Found): Promise<Found | 'changing' | undefined> {
    const { exchange, what, member } = suspect;
    if (what === 'unstable') return await this.#stillUnstable(suspect);
    if (what === 'unlisted') return await this.#stillUnlisted(suspect);
    if (exchange.operation.list === true && LIST_WHATS.has(what)) return this.#listAgain(suspect);
    const record = this.model.records.get(suspect.id ?? '');
    if (record === undefined || member === undefined || !MEMBER_WHATS.has(what)) return this.#sameAgain(suspect);
    const known = record.members.get(member);
    if (known === undefined) return undefined;
    const now = await this.#valueNow(suspect, member);
    if (now !== undefined && !isSame(now.value, known.value) && !holds(known.value, now.value)) {
      const isHeld = record.isOurs && HOLDINGS[record.kind].get(member) !== 'timely';
      const effect = { ...suspect, exchange: now.exchange, actual: now.value };
      if (known.predicted === true) return { ...effect, what: 'effect' };
      if (isHeld) return { ...effect, what: 'side-effect' };
      // It has changed since.
      record.members.set(member, { value: now.value, seen: seenIn(now.exchange), ask: now.ask });
    }
    if (exchange.operation.method !== 'GET') return suspect;
    return this.#sameAgain(suspect);
  }

  async #stillUnlisted(suspect: Found): Promise<Found | undefined> {
    const kind = suspect.exchange.operation.kind as ResourceKind;
    await this.walk(kind);
    const { reference } = this.model.list(kind);
    return reference?.isWhole === true && !reference.ids.includes(suspect.id ?? '') ? suspect : undefined;
  }

  /** The value as the answer shows it that made it known, or a read in the newest version. */
  async #valueNow({ id = '', kind }: Found, member: string) {
    const record = this.model.records.get(id);
    const before = record?.members.get(member)?.ask;
    const read = kind === undefined ? undefined : getOf(kind as ResourceKind);
    const asks: Ask[] = [];
    if (before !== undefined && before.operation.method === 'GET') asks.push(before);
    if (read !== undefined) {
      const ask: Ask = { operation: read, version: this.newest, key: 'full', ids: [id], query: [] };
      asks.push(ask);
    }
    for (const ask of asks) {
      const exchange = await this.send({ ...ask });
      const shown = ok(exchange) ? findIn(exchange.json, id) : undefined;
      if (shown !== undefined && member in shown) return { value: keptValue(shown[member]), exchange, ask };
    }
    return undefined;
  }

  async #sameAgain(suspect: Found): Promise<Found | undefined> {
    if (suspect.exchange.operation.method !== 'GET') return suspect;
    const exchange = await this.send(askOf(suspect.exchange));
    if (suspect.what === 'silent') return exchange.status === 0 ? { ...suspect, exchange } : undefined;
    if (suspect.what === 'refused')
      return ok(exchange) || (await this.#isGone(exchange)) ? undefined : { ...suspect, exchange };
    return this.judge(exchange).find((each) => causeOf(each) === causeOf(suspect) && each.id === suspect.id);
  }

  /** Somebody has deleted it meanwhile: no version serves it. */
  async #isGone({ operation: { kind }, ids: [id] }: Exchange): Promise<boolean> {
    const read = kind === undefined ? undefined : getOf(kind);
    if (id === undefined || read === undefined || this.model.records.get(id)?.isOurs === true) return false;
    const asks = this.versions.filter((version) => this.has(version, read));
    const answers = await Promise.all(
      asks.map((version) => this.send({ operation: read, version, key: 'full', ids: [id], query: [] })),
    );
    return !answers.some(ok);
  }

  async #listAgain(suspect: Found): Promise<Found | 'changing' | undefined> {
    const { kind } = suspect.exchange.operation;
    if (kind === undefined) return undefined;
    const list = this.model.list(kind);
    await this.walk(kind);
    const before = list.reference;
    const again = await this.#sameAgain(suspect);
    await this.walk(kind);
    const after = list.reference;
    if (again === undefined) return undefined;
    if (before === undefined || after === undefined || before.ids.join() !== after.ids.join()) return 'changing';
    return suspect.path.startsWith('/data place') ? this.#walkAgain(again) : again;
  }

  /** Which order items have is not stated: a walk with the same limit has to give each of them once. */
  async #walkAgain(suspect: Found): Promise<Found | undefined> {
    const { kind } = suspect.exchange.operation;
    const list = this.model.list(kind as ResourceKind);
    const limit = Number((suspect.exchange.json as Page).limit);
    const rest = suspect.exchange.query.filter(([name]) => name !== 'limit' && name !== 'offset');
    const total = list.reference?.total ?? 0;
    const seen: string[] = [];
    const ask = askOf(suspect.exchange);
    for (let offset = 0; offset < total && limit > 0; offset += limit) {
      const query = [...rest, ['limit', String(limit)], ['offset', String(offset)]] as const;
      const exchange = await this.send({ ...ask, query });
      if (!ok(exchange)) return undefined;
      seen.push(...(exchange.json as Page).data.map(({ id }) => id));
    }
    const isOnce = new Set(seen).size === seen.length && seen.length === total;
    if (!isOnce) return { ...suspect, expected: `each of ${total} items once, walking with limit ${limit}` };
    list.isUnordered = true;
    return undefined;
  }

  /** Items that were there before have the same order, unless something was written meanwhile. */
  #reordered(exchange: Exchange, before: readonly string[], now: readonly Shown[]): void {
    const moved = firstMoved(
      before,
      now.map(({ id }) => id),
    );
    if (moved === undefined) return;
    const expected = `the items of the list in the order that they had: ${moved.due} at place ${moved.place}`;
    this.note([{ what: 'unstable', exchange, path: '/data', expected, actual: moved.shown, certain: false }]);
  }

  async #stillUnstable(suspect: Found): Promise<Found | undefined> {
    const kind = suspect.exchange.operation.kind as ResourceKind;
    const list = this.model.list(kind);
    for (let times = 0; times < READ_AGAIN; times += 1) {
      const before = list.reference?.ids ?? [];
      await this.walk(kind);
      if (firstMoved(before, list.reference?.ids ?? []) === undefined) continue;
      list.isUnordered = true;
      return suspect;
    }
    return undefined;
  }

  /** Reads a whole list in the newest version; the answers are judged too. */
  async walk(kind: ResourceKind, most = MOST_PAGES): Promise<void> {
    const list = this.model.list(kind);
    const operation = listOf(kind);
    const items: Shown[] = [];
    let total = 0;
    for (let page = 0; page < most; page += 1) {
      const query = [
        ['limit', '100'],
        ['offset', String(page * 100)],
        ['expand', 'total_count'],
      ] as const;
      list.isStale = true;
      const exchange = await this.look({ operation, version: this.newest, key: 'full', ids: [], query });
      const found = ok(exchange) && Array.isArray((exchange.json as Page | undefined)?.data);
      if (!found) {
        list.reference = undefined;
        return;
      }
      const { data, has_more: more, total_count: count } = exchange.json as Page;
      items.push(...(data as Shown[]));
      total = count ?? items.length;
      if (more && data.length > 0 && page + 1 < most) continue;
      const isWhole = !more || data.length === 0;
      this.#reordered(exchange, list.reference?.ids ?? [], items);
      list.reference = { items, ids: items.map(({ id }) => id), isWhole, total: isWhole ? items.length : total };
      break;
    }
    list.isStale = false;
    if (list.reference?.isWhole !== true) return;
    const listed = new Set(list.reference.ids);
    for (const { id } of this.model.of(kind, true)) {
      if (listed.has(id)) continue;
      const ask: Ask = { operation, version: this.newest, key: 'full', ids: [], query: [['limit', '100']] };
      const exchange = await this.send(ask);
      const expected = `${id}, which was made, in its list`;
      const about = { path: '/data', id, expected, actual: `not among ${listed.size} items`, certain: false };
      return this.note([{ what: 'unlisted', exchange, kind, ...about }]);
    }
  }
}

/** How often a list is read again whose order has changed once. */
const READ_AGAIN = 3;
/** Each may cost seconds. */
const MOST_SILENCES = 3;
/** Lists that others write to are asked for so many times. */
const MOST_CHANGES = 6;
/** Between two creations a clock may be set. */
const CLOCK_MS = 60_000;
/** More items are too many to compare. */
const MOST_PAGES = 10;
const LIST_WHATS: ReadonlySet<string> = new Set(['items', 'more', 'count', 'filter', 'order', 'size']);
const EFFECTS: ReadonlySet<string> = new Set(['effect', 'side-effect']);
const MEMBER_WHATS: ReadonlySet<string> = new Set(['value', 'effect']);

/** The first item that has another place than before, among those that are there both times. */
function firstMoved(before: readonly string[], now: readonly string[]) {
  const [kept, there] = [new Set(now), new Set(before)];
  const [earlier, later] = [before.filter((id) => kept.has(id)), now.filter((id) => there.has(id))];
  const place = earlier.findIndex((id, at) => later[at] !== id);
  return place < 0 ? undefined : { due: earlier[place], shown: later[place], place: place + 1 };
}

/** Another letter in its first half: no decoding undoes that. */
const changed = (key: string): string => `${/[a-m0-4]/i.test(key[0] ?? '') ? 'z' : 'a'}${key.slice(1)}`;

/** The resource of that id, wherever it is in an answer. */
function findIn(json: unknown, id: string): Record<string, unknown> | undefined {
  if (typeof json !== 'object' || json === null) return undefined;
  if ('id' in json && json.id === id && 'object' in json) return json as Record<string, unknown>;
  for (const value of Object.values(json)) {
    const found = findIn(value, id);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** As the model keeps it: ids of what is expanded. */
const keptValue = (value: unknown): unknown => {
  if (Array.isArray(value) && value.every((each) => typeof each === 'object' && each !== null && 'object' in each))
    return value.map((each) => (each as { id: unknown }).id).sort();
  if (typeof value === 'object' && value !== null && 'object' in value && 'id' in value) return value.id;
  return value;
};
