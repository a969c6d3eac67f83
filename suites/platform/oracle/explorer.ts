/** Sends requests and judges answers; asks again if others may have changed a value. */
import { NoAnswer, NoAnswerInTime, Unfinished } from '../../../harness/client/errors.ts';
import type { HttpClient } from '../../../harness/client/http.ts';
import { Recorder } from '../../../harness/client/recorder.ts';
import { isModest } from '../../../harness/common/lenient.ts';
import { pollWithin } from '../../../harness/common/waiting.ts';
import type { Operation, ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { OPERATIONS, operationsOf, RESOURCES } from '../../../harness/contract/platform/operations.ts';
import { instantOf } from '../../../harness/contract/shape.ts';
import {
  codenameOf,
  NEWEST_VERSION,
  SUPPORTED_VERSIONS,
  type SupportedVersion,
} from '../../../harness/contract/versions.ts';
import { type Budget, Cells, Draw } from '../../../harness/runner/explore.ts';
import { Standstill, TooLittleSeen } from '../../../harness/runner/violation.ts';
import { isItem, type Page } from '../support/lists.ts';
import { MILLISECOND_NANOS } from '../support/ping.ts';
import { ok, type Platform, refused, send } from '../support/requests.ts';
import { causeOf, type Difference } from './differences.ts';
import {
  type Ask,
  askFor,
  askOf,
  changedKey,
  type Exchange,
  expansionsOf,
  pairs,
  pathOf,
  queryOf,
  seenIn,
} from './exchange.ts';
import { Judgement, Model, type Shown, UNSURE } from './model.ts';
import { dueRefusal, judge } from './refusals.ts';

export const operation = (id: string): Operation => OPERATIONS.find((each) => each.id === id) as Operation;
export const listOf = (kind: ResourceKind): Operation => operation(`list${RESOURCES[kind].name}s`);
export const getOf = (kind: ResourceKind): Operation => operation(`get${RESOURCES[kind].name}`);

/** Leaves out items that are no resources, because another comparison judges the envelope. */
export function itemsOf(exchange: Exchange): Shown[] {
  const { data } = Object(ok(exchange) ? exchange.json : undefined) as { data?: unknown };
  return Array.isArray(data) ? data.filter(isItem) : [];
}

export class Explorer {
  t: Platform;
  readonly model = new Model();
  readonly cells = new Cells();
  readonly draw: Draw;
  readonly budget: Budget;
  readonly versions: readonly SupportedVersion[];
  readonly found = new Map<string, Difference>();
  readonly suspects = new Map<string, Difference>();
  readonly notes: string[] = [];
  readonly observed = new Map<string, readonly [question: string, answer: string | number]>();
  readonly over = new Set<string>();
  laggedMs = 0;
  tidy = async (): Promise<void> => {};
  readonly lacking = new Map<string, Pick<Exchange, 'status' | 'text'>>();
  #clients = new Map<string, HttpClient>();
  readonly #began = Date.now();
  /** True once a reused connection was closed without an answer; later requests use new connections. */
  #wasClosed = false;
  /** Answers above the limits of Muster; not asked for again. */
  readonly #large = new Map<string, Exchange>();
  readonly #silent = new Map<string, { times: number; last: Exchange }>();
  /** Milliseconds by which the platform's clock led this machine's at the first creation. */
  #clock: number | undefined;

  constructor(t: Platform, seed: number, budget: Budget) {
    this.t = t;
    this.draw = new Draw(seed);
    this.budget = budget;
    const isDeclared = (version: SupportedVersion): boolean =>
      version === t.apiVersion || t.capabilities.has(codenameOf(version));
    this.versions = SUPPORTED_VERSIONS.filter(isDeclared).toReversed();
  }

  turnTo(t: Platform): void {
    this.t = t;
    this.#clients = new Map();
  }

  get newest(): SupportedVersion {
    return this.versions[0] ?? NEWEST_VERSION;
  }

  has(version: string, operation: Operation): boolean {
    return operationsOf(version as SupportedVersion).some(({ id }) => id === operation.id);
  }

  #client({ version, key }: Ask): HttpClient {
    const name = `${version} ${key}`;
    const known = this.#clients.get(name);
    if (known !== undefined) return known;
    const { t } = this;
    const rest = Object.fromEntries(Object.entries(t.http.headers).filter(([each]) => !/^x-api-key$/i.test(each)));
    const value = key === 'limited' ? t.limitedKey : changedKey(t.apiKey, key);
    if (value) t.http.recorder.redactor.add(value);
    const headers = { ...rest, [t.versionHeader]: version, ...(value !== undefined && { 'X-API-Key': value }) };
    const client = t.http.with({ headers });
    this.#clients.set(name, client);
    return client;
  }

  #drawnForm({ operation: { id }, version, body }: Ask): { isKept: boolean; isCut: boolean } {
    const one = (name: string, yes: string, no: string): boolean => {
      const cellOf = (isYes: boolean) => ({ operation: id, version, [name]: isYes ? yes : no });
      const isYes = this.cells.rarest(this.draw, [true, false], cellOf);
      this.cells.visit(cellOf(isYes));
      return isYes;
    };
    return { isKept: one('connection', 'kept', 'new'), isCut: body !== undefined && one('body', 'cut', 'whole') };
  }

  /** Repeats throttled requests; status 0 means that no answer came. Throws TooSlow once the budget is overdue. */
  async send(ask: Ask): Promise<Exchange> {
    if (this.budget.isOverdue)
      throw new TooSlow(`answers are slow: the exploration ended after ${this.budget.requests} requests`);
    const { method, id } = ask.operation;
    const { times = 0, last } = this.#silent.get(id) ?? {};
    // Does not send an operation that was silent twice, because each silence takes the whole timeout.
    const before = times >= 2 ? last : this.#large.get(sizeClassOf(ask));
    if (before !== undefined) return { ...before, ...ask };
    this.budget.requests += 1;
    const body = method === 'GET' ? undefined : (ask.body ?? {});
    const { recorder } = this.t.http;
    // Records each request apart, so that a finding shows only its own; rules see no answer that should be a refusal.
    const own = new Recorder(recorder.redactor, dueRefusal(ask) === undefined ? recorder.happened : undefined);
    const drawn = this.#drawnForm(ask);
    const { isKept = drawn.isKept, isCut = drawn.isCut } = ask;
    const keepsAlive = isKept && !this.#wasClosed;
    const http = this.#client(ask).with({ recorder: own, keepsAlive });
    const query = queryOf(ask);
    const { timeout_nanos: nanos = 0 } = (body ?? {}) as { timeout_nanos?: number };
    const request = {
      method,
      path: pathOf(ask),
      takesMs: nanos / MILLISECOND_NANOS,
      ...(query !== '' && { query }),
      ...(body !== undefined && { body, isCut }),
    };
    try {
      const { status, headers, text, json, recorded } = await send(this.t, request, http);
      if (json === undefined && !isModest(text)) throw new Unfinished(`${pathOf(ask)}: more JSON than Muster reads`);
      this.#silent.delete(id);
      const { token } = (json ?? {}) as { token?: unknown };
      if (typeof token === 'string') recorder.redactor.add(token);
      return { ...ask, isKept, isCut, status, headers, json, text, asked: recorded };
    } catch (error) {
      // Retries on a new connection, except for a timed-out write, which may take effect.
      if (keepsAlive && error instanceof NoAnswer && (method === 'GET' || !(error instanceof NoAnswerInTime))) {
        this.#wasClosed = true;
        return await this.send(ask);
      }
      const meant = error instanceof NoAnswerInTime ? await this.t.reconsider?.(error) : undefined;
      const wasStill = meant instanceof Standstill;
      if (wasStill) this.t.session.forgive();
      if (wasStill && method === 'GET') return await this.send(ask);
      const [asked] = http.recorder.exchanges;
      const isLarge = error instanceof Unfinished;
      // Tolerates silence of up to three operations; with more, the platform hangs, and the error is thrown.
      const isSilent = error instanceof NoAnswer && this.#silent.size < 3 && (meant ?? error) === error;
      const isExcused = isLarge || wasStill;
      if (!(isExcused || isSilent) || asked === undefined) throw error;
      const text = (error as Error).message;
      const answer = { ...ask, status: 0, headers: {}, json: undefined, text, asked, isExcused };
      if (isExcused) this.notes.push(`not judged: ${text}`);
      if (isLarge) this.#large.set(sizeClassOf(ask), answer);
      else if (!isExcused) this.#silent.set(id, { times: times + 1, last: answer });
      return answer;
    }
  }

  async comes(what: string, isThere: () => Promise<boolean>, timeoutMs = this.t.patienceMs / 2): Promise<boolean> {
    const wait = { timeoutMs, firstPauseMs: 50, growth: 2, signal: this.t.signal };
    return (await pollWithin(what, async () => (await isThere()) || undefined, wait)) === true;
  }

  async look(ask: Ask): Promise<Exchange> {
    const exchange = await this.send(ask);
    this.note(this.judge(exchange));
    return exchange;
  }

  /** `predicted`: members due afterwards, unless the platform refuses the write. */
  async write(ask: Ask, predicted: Readonly<Record<string, unknown>> = {}): Promise<Exchange> {
    const kind = ask.operation.kind as ResourceKind;
    const sentAt = Date.now();
    const exchange = await this.send(ask);
    const { object, id: shown, created_at: at } = Object(exchange.json) as Readonly<Record<string, unknown>>;
    // An answer of status 202 may describe the request instead of the resource.
    const isShown = exchange.status !== 202 || object === this.model.wordOf(kind);
    const id = ask.ids[0] ?? (isShown ? shown : undefined);
    if (!refused(exchange)) this.model.list(kind).isStale = true;
    if (ok(exchange) && typeof id === 'string') {
      const isNew = ask.ids.length === 0;
      const record = isNew ? this.model.made(id, kind) : this.model.record(id, kind);
      for (const [name, value] of Object.entries(predicted))
        record.members.set(name, { value, seen: seenIn(exchange), predicted: true });
      if (isNew && typeof at === 'string') {
        // Compares with the clock of the first creation, because the platform's clock may be wrong, but must not
        // change.
        this.model.newestCreation = Math.max(this.model.newestCreation, instantOf(at) || 0);
        const ahead = instantOf(at) - sentAt;
        this.#clock ??= ahead;
        const drift = ahead - this.#clock;
        const isRight = Math.abs(drift) <= this.#mostDriftMs;
        const expected = 'the time at which it was created, by the clock of earlier records';
        this.hold(exchange, isRight, 'value', '/created_at', expected, `${Math.round(drift / 1000)} s from that`);
      }
    } else if (!ok(exchange) && !refused(exchange)) {
      // Forgets the values, because the write may have taken effect.
      const { members } = this.model.known(ask.ids[0], kind) ?? {};
      for (const name of Object.keys(predicted)) members?.delete(name);
    }
    this.note(this.judge(exchange));
    return exchange;
  }

  hold(exchange: Exchange, ...[isRight, what, pointer, expected, actual, more]: Parameters<Judgement['hold']>): void {
    const judgement = new Judgement(this.model, exchange);
    judgement.hold(isRight, what, pointer, expected, actual, { kind: exchange.operation.kind, ...more });
    this.note(judgement.found);
  }

  judge = (exchange: Exchange): Difference[] => {
    if (this.#clock !== undefined) this.model.latest = Date.now() + this.#clock + this.#mostDriftMs;
    return judge(this.model, exchange);
  };

  get #mostDriftMs(): number {
    // A minute and the time since the start, by which a clock may be adjusted between two creations.
    return 60_000 + Date.now() - this.#began;
  }

  note(found: readonly Difference[]): void {
    for (const each of found) {
      const cause = causeOf(each);
      if (this.found.has(cause) || each.certain) this.confirm(each);
      else if (!this.suspects.has(cause)) this.suspects.set(cause, each);
    }
  }

  confirm(found: Difference): void {
    const cause = causeOf(found);
    if (!this.found.has(cause)) this.found.set(cause, found);
    this.#adopt(found);
  }

  /** Adopts a wrong value, so that it causes no further finding. */
  #adopt({ what, id, kind, member, actual, exchange }: Difference): void {
    if (what === 'envelope' && kind !== undefined) this.model.list(kind as ResourceKind).isStale = true;
    const record = this.model.known(id, kind);
    if (record === undefined || member === undefined || (what !== 'effect' && what !== 'side-effect')) return;
    record.members.set(member, { value: actual, seen: seenIn(exchange), ask: askOf(exchange) });
  }

  async walk(kind: ResourceKind): Promise<void> {
    const list = this.model.list(kind);
    const items: Shown[] = [];
    let isReadable = true;
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const query = pairs({ limit: '100', offset: page * 100, expand: 'total_count' });
      list.isStale = true;
      const exchange = await this.look(askFor(listOf(kind), this.newest, [], { query }));
      if (!ok(exchange) || !Array.isArray((exchange.json as Page | undefined)?.data)) {
        list.reference = undefined;
        return;
      }
      const { data, has_more: more, total_count: count } = exchange.json as Page;
      const shown = itemsOf(exchange);
      items.push(...shown);
      isReadable &&= shown.length === data.length;
      const isLast = !more || data.length === 0;
      if (!isLast && page + 1 < MOST_PAGES) continue;
      const isWhole = isReadable && isLast;
      const before = list.reference?.ids ?? [];
      const ids = items.map(({ id }) => id);
      const moved = firstMoved(before, ids);
      const expected = `the items of the list in the order that they had: ${moved?.due} at place ${moved?.place}`;
      if (before.length > 0)
        this.hold(exchange, moved === undefined, 'unstable', '/data', expected, moved?.shown, UNSURE);
      list.reference = { items, ids, isWhole, total: isWhole ? items.length : (count ?? items.length) };
      list.isStale = false;
      if (isWhole) this.#expectMade(kind, exchange, new Set(ids));
      return;
    }
  }

  #expectMade(kind: ResourceKind, exchange: Exchange, listed: ReadonlySet<string>): void {
    const made = this.model.of(kind, true);
    const { id } = made.find((each) => !listed.has(each.id)) ?? {};
    if (made.length === 0) return;
    const expected = `${id}, which was made, in its list`;
    const actual = `not among ${listed.size} items`;
    this.hold(exchange, id === undefined, 'unlisted', '/data', expected, actual, { ...UNSURE, id });
  }
}

/** Ends the exploration of a slow platform before the time limit of the check. */
export class TooSlow extends TooLittleSeen {}

/** Operation and expansions, which decide how large an answer is. */
const sizeClassOf = (ask: Ask): string => `${ask.operation.id}?${expansionsOf(ask)}`;
/** Maximum number of pages; a longer list is not compared. */
const MOST_PAGES = 10;

export function firstMoved(before: readonly string[], now: readonly string[]) {
  // Ignores repeated items, which pages may have if others write between the reads.
  const [kept, there] = [new Set(now), new Set(before)];
  const [earlier, later] = [[...there].filter((id) => kept.has(id)), [...kept].filter((id) => there.has(id))];
  const place = earlier.findIndex((id, at) => later[at] !== id);
  return place < 0 ? undefined : { due: earlier[place], shown: later[place], place: place + 1 };
}
