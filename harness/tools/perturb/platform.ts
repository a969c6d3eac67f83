import { isObject } from '../../common/lenient.ts';
import { SUPPORTED_VERSIONS } from '../../contract/versions.ts';
import { changeMember, changePage, itemsOf, type Json, makeStale, valueAt } from './change.ts';
import {
  type Answer,
  Changes,
  type Exchange,
  headerOf,
  jsonOf,
  queryOf,
  withHeader,
  withoutParameter,
} from './forward.ts';
import { type Cell, type Form, groupOf, isWithin, type Perturbation } from './perturbation.ts';

const VERSION = 'service-version';
const KEY = 'x-api-key';
const WRITE = /^(PATCH|POST) \/\w+\/[^/]+(?!\/ping$)(\/\w+)?$/;

/** API keys that every server accepts; `limited` lacks the scope `devices:read`. */
export const KEYS = { full: 'full', limited: 'limited' };

function parts(url: string): { base: string; path: string } {
  const [, base = '', path = ''] = /^((?:\/api)?\/beta)(\/[^?]*)/.exec(url) ?? [];
  return { base, path };
}

function formsOf(query: URLSearchParams): Form[] {
  const forms = [...query].flatMap(([name, value]): Form[] => {
    if (!/^expand(\[\])?$/.test(name)) return [name === 'limit' || name === 'offset' ? 'paged' : 'filtered'];
    return value.split(',').map((one) => (one === 'total_count' ? 'counted' : 'expanded'));
  });
  return forms.length === 0 ? ['plain'] : forms;
}

function requestInCell(cell: Cell, { method, url, headers, connection }: Exchange): boolean {
  const [verb, route = ''] = (cell.operation ?? `${method} /`).split(' ');
  const given = headerOf(headers, KEY);
  const key = given === KEYS.full ? 'full' : given === KEYS.limited ? 'limited' : 'none';
  const version = headerOf(headers, VERSION);
  const fits = new RegExp(cell.operation === undefined ? '^/' : `^${route.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
  return (
    method === verb &&
    fits.test(parts(url).path) &&
    isWithin(cell, { version, key, connection }) &&
    (cell.form === undefined || formsOf(queryOf(url)).includes(cell.form))
  );
}

/** Returns the same object if the kind of change does not apply. */
export function changedRequest({ kind, value = '' }: Perturbation, exchange: Exchange): Exchange {
  const { url, headers, body } = exchange;
  if (kind === 'other-version') return { ...exchange, headers: withHeader(headers, VERSION, value) };
  if (kind === 'query-lost') {
    const without = withoutParameter(url, value);
    return without === url ? exchange : { ...exchange, url: without };
  }
  if (kind === 'let-through') {
    const [name, let_in] = value === 'key' ? [KEY, KEYS.full] : [VERSION, SUPPORTED_VERSIONS.at(-1)];
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
  readonly #seen = new Map<unknown, Json[]>();
  readonly #before = new Map<string, Json>();
  readonly #created = new Set<unknown>();
  #one: string | undefined;

  async answer(exchange: Exchange): Promise<Answer> {
    const { kind, cell } = this.it;
    const group = groupOf(kind);
    if (kind === 'stale' && WRITE.test(`${exchange.method} ${parts(exchange.url).path}`))
      await this.#lookBefore(exchange);
    if (!requestInCell(cell, exchange)) return this.#forward(exchange);
    this.trace('v');
    if (group === 'request') return this.#changedByRequest(exchange);
    // A refused write must have no effect.
    if (kind === 'refused' && exchange.method !== 'GET') return this.refusal();
    const answer = await this.#forward(exchange);
    if (group !== 'json' && answer.status >= 300) return answer;
    return this.changed(answer, (body) => this.#change(body, exchange));
  }

  async #forward(exchange: Exchange): Promise<Answer> {
    const answer = await this.ask(exchange);
    if (answer.status < 300) this.#remember(exchange, jsonOf(answer));
    return answer;
  }

  async #changedByRequest(exchange: Exchange): Promise<Answer> {
    const made = changedRequest(this.it, exchange);
    const usual = made === exchange || exchange.method === 'GET' ? await this.#forward(exchange) : undefined;
    if (made === exchange && usual !== undefined) return usual;
    const answer = await this.#forward(made);
    const isSame = answer.status === usual?.status && answer.body.equals(usual.body);
    return isSame || (this.it.kind === 'let-through' && answer.status >= 300) ? answer : this.applied(answer);
  }

  #change(body: Json, exchange: Exchange): void {
    const { kind, path, item } = this.it;
    const page = Array.isArray(body['data']) && body['object'] === 'list' ? (body['data'] as unknown[]) : undefined;
    if (kind === 'counted') {
      if (page !== undefined && !Object.hasOwn(body, 'total_count')) body['total_count'] = page.length;
    } else if (groupOf(kind) === 'page') {
      if (page === undefined) return;
      if (kind === 'creation-undone') body['data'] = page.filter((each) => !this.#created.has(valueAt(each, ['id'])));
      else changePage(page, kind, item ?? 'first');
    } else if (item !== undefined && page !== undefined) {
      this.#one ??= valueAt(page, ['0', 'id']) as string | undefined;
      for (const each of itemsOf(page, item, this.#one)) this.#changeRecord(each, exchange);
    } else if (kind === 'foreign' || kind === 'stale') this.#changeRecord(body, exchange);
    else changeMember(body, path ?? [], kind);
  }

  #changeRecord(record: unknown, exchange: Exchange): void {
    if (!isObject(record)) return;
    const { kind, path } = this.it;
    const before = this.#before.get(`${headerOf(exchange.headers, VERSION)} ${record['id']}`);
    if (path === undefined) makeStale(record, before ?? {});
    else if (kind === 'stale') changeMember(record, path, kind, valueAt(before, path));
    else {
      const other = (this.#seen.get(record['object']) ?? []).find(({ id }) => id !== record['id']);
      changeMember(record, path, kind, valueAt(other, path));
    }
  }

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

  async #lookBefore({ url }: Exchange): Promise<void> {
    const { base, path } = parts(url);
    const [, collection, id = ''] = path.split('/');
    const { version } = this.it.cell;
    for (const each of version === undefined ? SUPPORTED_VERSIONS : [version]) {
      const headers = ['Host', 'platform', KEY, KEYS.full, VERSION, each];
      const read = (to: string): Promise<unknown> => this.read(`${base}/${to}`, headers);
      let record = await read(`${collection}/${id}`);
      // Some servers have no route for a single record.
      for (let offset = 0; record === undefined && offset < 300; offset += 100) {
        const data = valueAt(await read(`${collection}?limit=100&offset=${offset}`), ['data']);
        if (!Array.isArray(data) || data.length === 0) break;
        record = data.find((one) => valueAt(one, ['id']) === decodeURIComponent(id));
      }
      if (isObject(record)) this.#before.set(`${each} ${id}`, record);
    }
  }
}
