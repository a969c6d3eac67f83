/** A platform and a client for it. For tests. */
import { DIALECT_NAMES, NEWEST_VERSION, type SupportedVersion } from '../../../harness/contract/versions.ts';
import { type PlatformOptions, type SimulatedPlatform, simulatePlatform } from '../index.ts';

export type Json = Record<string, unknown>;

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
  /** Posts, and throws unless the answer is a 2xx. */
  create(path: string, body?: unknown, options?: CallOptions): Promise<Json & { id: string }>;
  items(path: string, options?: CallOptions): Promise<(Json & { id: string })[]>;
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
  return {
    ...platform,
    call,
    get,
    create: async (path, body, given) => {
      const reply = await call('POST', path, body, given);
      if (reply.status >= 300) throw new Error(`POST ${path} answered ${reply.status} ${reply.text}`);
      return reply.body as Json & { id: string };
    },
    items: async (path, given) => (await get(path, given)).body['data'] as (Json & { id: string })[],
  };
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return {};
  }
}
