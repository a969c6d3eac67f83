/** The proxy before a Platform API. It knows routes and versions, and what it has seen pass. */
import { SUPPORTED_VERSIONS } from '../../contract/versions.ts';
import { at, becomeStale, changeMember, changePage, isObject, itemsOf, type Json } from './change.ts';
import {
  type Answer,
  ask,
  Changes,
  type Exchange,
  headerOf,
  jsonOf,
  queryOf,
  type Trace,
  type Upstream,
  whole,
  withHeader,
  withoutParameter,
} from './forward.ts';
import { type Cell, type Form, KINDS, type Perturbation } from './perturbation.ts';

const VERSION = 'service-version';
const KEY = 'x-api-key';
/** A write to a record that is there. */
const WRITE = /^(PATCH|POST) \/\w+\/[^/]+(?!\/ping$)(\/\w+)?$/;

export interface Keys {
  full: string;
  limited: string;
}

/** Path below the base address, and that address. */
function parts(url: string): { base: string; path: string } {
  const [, base = '', path = ''] = /^((?:\/api)?\/beta)(\/[^?]*)/.exec(url) ?? [];
  return { base, path };
}

const FORM_OF: Readonly<Record<string, Form>> = { limit: 'paged', offset: 'paged' };

/** The forms of a request, by its query. */
export function formsOf(query: URLSearchParams): Form[] {
  const forms = [...query].flatMap(([name, value]): Form[] => {
    if (!/^expand(\[\])?$/.test(name)) return [FORM_OF[name] ?? 'filtered'];
    return value.split(',').map((one) => (one === 'total_count' ? 'counted' : 'expanded'));
  });
  return forms.length === 0 ? ['plain'] : [...new Set(forms)];
}

/** Whether a request lies in the cell. */
export function requestInCell(cell: Cell, { method, url, headers, connection }: Exchange, keys: Keys): boolean {
  const [verb, route = ''] = (cell.operation ?? `${method} /`).split(' ');
  const given = headerOf(headers, KEY);
  const key = given === keys.full ? 'full' : given === keys.limited ? 'limited' : 'none';
  const fits = new RegExp(cell.operation === undefined ? '^/' : `^${route.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
  return (
    method === verb &&
    fits.test(parts(url).path) &&
    (cell.version ?? headerOf(headers, VERSION)) === headerOf(headers, VERSION) &&
    (cell.key ?? key) === key &&
    (cell.form === undefined || formsOf(queryOf(url)).includes(cell.form)) &&
    (cell.connection ?? connection) === connection
  );
}

/** The request as a kind has it that changes what is asked; the same one where there is nothing to change. */
export function changedRequest({ kind, value = '' }: Perturbation, exchange: Exchange, keys: Keys): Exchange {
  const { url, headers, body } = exchange;
  if (kind === 'other-version') return { ...exchange, headers: withHeader(headers, VERSION, value) };
  if (kind === 'query-lost') {
    const without = withoutParameter(url, value);
    return without === url ? exchange : { ...exchange, url: without };
  }
  if (kind === 'let-through') {
    const [name, let_in] = value === 'key' ? [KEY, keys.full] : [VERSION, SUPPORTED_VERSIONS.at(-1)];
    return { ...exchange, headers: withHeader(headers, name, let_in) };
  }
  if (kind !== 'body-lost') return exchange;
  try {
    const { [value]: lost, ...rest } = JSON.parse(body.toString()) as Json;
    return lost === undefined ? exchange : { ...exchange, body: Buffer.from(JSON.stringify(rest)) };
  } catch {
    return exchange;
  }
}

export class PlatformChanges extends Changes {
  readonly #keys: Keys;
  /** The last two records of each kind that have passed. */
  readonly #seen = new Map<unknown, Json[]>();
  /** Records as they were before the last write to them, by version and id. */
  readonly #before = new Map<string, Json>();
  readonly #created = new Set<unknown>();
  /** Id of the record that is changed wherever it is listed. */
  #one: string | undefined;

  constructor(it: Perturbation, upstream: Upstream, trace: Trace, keys: Keys) {
    super(it, upstream, trace);
    this.#keys = keys;
  }

  async answer(exchange: Exchange): Promise<Answer> {
    const { kind, cell } = this.it;
    const { of } = KINDS[kind];
    if (kind === 'stale' && WRITE.test(`${exchange.method} ${parts(exchange.url).path}`))
      await this.#lookBefore(exchange);
    if (!requestInCell(cell, exchange, this.#keys)) return this.#ask(exchange);
    this.trace('v');
    if (of === 'request') return this.#changedByRequest(exchange);
    // A write that is refused has no effect.
    if (kind === 'refused' && exchange.method !== 'GET') return this.refusal();
    const answer = await this.#ask(exchange);
    if (of === 'json') return this.rewritten(answer);
    return answer.status < 300 ? this.changed(answer, (body) => this.#change(body, exchange)) : answer;
  }

  async #ask(exchange: Exchange): Promise<Answer> {
    const answer = await whole(await ask(this.upstream, exchange));
    if (answer.status < 300) this.#remember(exchange, jsonOf(answer));
    return answer;
  }

  async #changedByRequest(exchange: Exchange): Promise<Answer> {
    const made = changedRequest(this.it, exchange, this.#keys);
    const usual = made === exchange || exchange.method === 'GET' ? await this.#ask(exchange) : undefined;
    if (made === exchange && usual !== undefined) return usual;
    const answer = await this.#ask(made);
    const isSame = answer.status === usual?.status && answer.body.equals(usual.body);
    return isSame || (this.it.kind === 'let-through' && answer.status >= 300) ? answer : this.applied(answer);
  }

  /** Changes the body of an answer in place. */
  #change(body: Json, exchange: Exchange): void {
    const { kind, path, item } = this.it;
    const page = Array.isArray(body['data']) && body['object'] === 'list' ? (body['data'] as unknown[]) : undefined;
    if (kind === 'counted') {
      if (page !== undefined && !Object.hasOwn(body, 'total_count')) body['total_count'] = page.length;
    } else if (KINDS[kind].of === 'page') {
      if (page === undefined) return;
      if (kind === 'creation-undone') body['data'] = page.filter((each) => !this.#created.has(at(each, ['id'])));
      else changePage(page, kind, item ?? 'first');
    } else if (item !== undefined && page !== undefined) {
      this.#one ??= at(page, ['0', 'id']) as string | undefined;
      for (const each of itemsOf(page, item, this.#one)) this.#changeRecord(each, exchange);
    } else if (kind === 'foreign' || kind === 'stale') this.#changeRecord(body, exchange);
    else changeMember(body, path ?? [], kind);
  }

  #changeRecord(record: unknown, exchange: Exchange): void {
    if (!isObject(record)) return;
    const { kind, path } = this.it;
    const before = this.#before.get(`${headerOf(exchange.headers, VERSION)} ${record['id']}`);
    if (path === undefined) becomeStale(record, before ?? {});
    else if (kind === 'stale') changeMember(record, path, kind, at(before, path));
    else {
      const others = this.#seen.get(record['object']) ?? [];
      const other = others.find(({ id }) => id !== record['id']);
      changeMember(record, path, kind, at(other, path));
    }
  }

  /** Of the records that pass, the last of each kind that differ. */
  #remember({ method, url }: Exchange, body: unknown): void {
    if (!isObject(body)) return;
    const records = Array.isArray(body['data']) ? body['data'] : [body];
    for (const record of records) {
      if (!isObject(record) || typeof record['id'] !== 'string') continue;
      const others = (this.#seen.get(record['object']) ?? []).filter(({ id }) => id !== record['id']);
      this.#seen.set(record['object'], [...others.slice(-1), record]);
    }
    if (method === 'POST' && /^\/\w+$/.test(parts(url).path)) this.#created.add(body['id']);
  }

  /** Reads the record that a write names, as each version of the cell has it. */
  async #lookBefore({ url }: Exchange): Promise<void> {
    const { base, path } = parts(url);
    const [, collection, id = ''] = path.split('/');
    const { version } = this.it.cell;
    for (const each of version === undefined ? SUPPORTED_VERSIONS : [version]) {
      const headers = ['Host', 'platform', KEY, this.#keys.full, VERSION, each];
      const read = async (to: string): Promise<unknown> => {
        const asked = {
          method: 'GET',
          url: `${base}/${to}`,
          headers,
          body: Buffer.alloc(0),
          connection: 'new',
        } as const;
        const answer = await this.#ask(asked);
        return answer.status === 200 ? jsonOf(answer) : undefined;
      };
      let record = await read(`${collection}/${id}`);
      // Some servers have no route for one record.
      for (let offset = 0; record === undefined && offset < 300; offset += 100) {
        const data = at(await read(`${collection}?limit=100&offset=${offset}`), ['data']);
        if (!Array.isArray(data) || data.length === 0) break;
        record = data.find((one) => at(one, ['id']) === decodeURIComponent(id));
      }
      if (isObject(record)) this.#before.set(`${each} ${id}`, record);
    }
  }
}
