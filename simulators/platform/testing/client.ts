/** A platform and a client for it. For tests. */
import { DIALECT_NAMES, NEWEST_VERSION, type SupportedVersion } from '../../../harness/contract/versions.ts';
import { type PlatformOptions, type SimulatedPlatform, simulatePlatform } from '../index.ts';

export type Json = Record<string, unknown>;
export type Item = Json & { id: string };

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  /** The body as JSON; an empty object when it is none. */
  body: Json;
}

export interface CallOptions {
  version?: SupportedVersion | string;
  headers?: Record<string, string>;
}

export interface TestPlatform extends SimulatedPlatform {
  call(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Reply>;
  get(path: string, options?: CallOptions): Promise<Reply>;
  post(path: string, body?: unknown, options?: CallOptions): Promise<Reply>;
  /** Posts, and throws unless the answer is a 2xx. */
  create(path: string, body?: unknown, options?: CallOptions): Promise<Item>;
  items(path: string, options?: CallOptions): Promise<Item[]>;
  provisioningToken(): Promise<string>;
}

export async function startPlatform(options: PlatformOptions = {}): Promise<TestPlatform> {
  const platform = await simulatePlatform({ mqtt: false, ...options });
  const { versionHeader } = DIALECT_NAMES[options.dialect ?? 'spec'];
  const call = async (method: string, path: string, body?: unknown, { version, headers }: CallOptions = {}) => {
    const response = await fetch(platform.url + path, {
      method,
      headers: {
        'x-api-key': platform.apiKey,
        [versionHeader.toLowerCase()]: version ?? NEWEST_VERSION,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parsed(text) };
  };
  const get = (path: string, given?: CallOptions) => call('GET', path, undefined, given);
  const post = (path: string, body?: unknown, given?: CallOptions) => call('POST', path, body, given);
  const create = async (path: string, body?: unknown, given?: CallOptions) => {
    const reply = await post(path, body, given);
    if (reply.status >= 300) throw new Error(`POST ${path} answered ${reply.status} ${reply.text}`);
    return reply.body as Item;
  };
  return {
    ...platform,
    ...{ call, get, post, create },
    items: async (path, given) => (await get(path, given)).body['data'] as Item[],
    provisioningToken: async () => String((await create('/provisioning_tokens'))['token']),
  };
}

/** Every item of a list, page by page. Fails when a page that has a next one is not full. */
export async function walk(platform: TestPlatform, path: string, limit = 100): Promise<Item[]> {
  const items: Item[] = [];
  for (;;) {
    const separator = path.includes('?') ? '&' : '?';
    const { body } = await platform.get(`${path}${separator}limit=${limit}&offset=${items.length}`);
    const page = body['data'] as Item[];
    items.push(...page);
    if (!body['has_more']) return items;
    if (page.length !== limit) throw new Error(`${path} has more items after a page of ${page.length} of ${limit}`);
  }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return {};
  }
}
