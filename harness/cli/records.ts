import { HttpClient, type HttpResponse } from '../client/http.ts';
import type { Recorder } from '../client/recorder.ts';
import { defined } from '../common/defined.ts';
import { NamedError } from '../common/usage.ts';
import { type Dialect, NAMES_BY_DIALECT, NEWEST_VERSION } from '../contract/versions.ts';

interface PlatformAccess {
  url: string;
  apiKey: string;
  dialect: Dialect;
  version?: string;
  ca?: string | undefined;
  recorder?: Recorder;
}

export function platformHttp({ url, apiKey, dialect, version = NEWEST_VERSION, ca, recorder }: PlatformAccess) {
  const { origin, pathname } = new URL(url);
  return new HttpClient({
    endpoint: { origin, ...defined({ ca }) },
    basePath: pathname.replace(/\/$/, ''),
    headers: { 'x-api-key': apiKey, [NAMES_BY_DIALECT[dialect].versionHeader.toLowerCase()]: version },
    ...defined({ recorder }),
  });
}

export class NoListError extends NamedError {}

export type Item = Readonly<Record<string, unknown>>;

/** Reads a list page by page (section 8 of the specification). Throws NoListError or errors of HttpClient. */
export async function allOf(http: HttpClient, path: string): Promise<Item[]> {
  const all = new Map<unknown, Item>();
  // Maximum number of pages, because a list may grow while Muster reads it.
  for (let page = 0, offset = 0; page < 10_000; page += 1) {
    const known = all.size;
    const response = await http.get(path, { query: { limit: 100, offset }, timeoutMs: 30_000 });
    const { data, has_more } = (response.json ?? {}) as { data?: unknown; has_more?: unknown };
    if (response.status !== 200 || !Array.isArray(data) || data.some((item) => Object(item) !== item))
      throw new NoListError(`GET ${path}: ${describeAnswer(http, response)}`);
    for (const item of data as Item[]) all.set(item['id'], item);
    offset += data.length;
    // Stops at a page without new items, because a platform could repeat its pages for ever.
    if (all.size === known || has_more !== true) break;
  }
  return [...all.values()];
}

export const describeAnswer = ({ recorder: { redactor } }: HttpClient, { status, text }: HttpResponse): string =>
  `HTTP ${status} ${redactor.text(text).slice(0, 400)}`;
