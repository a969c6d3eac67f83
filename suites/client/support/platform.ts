/** A Platform API as the specification has it, for calls of a client: what it answers where a check says nothing else. */
import type { Deployment } from '../../../harness/contract/deployment.ts';
import { LIST_LIMITS } from '../../../harness/contract/limits.ts';
import type { ListEnvelope } from '../../../harness/contract/lists.ts';
import { type Answering, type Call, COLLECTION, DEVICE, PLATFORM_BASE } from './call.ts';
import type { Asked } from './stage.ts';

export const LIST_PATH = `${PLATFORM_BASE}/${COLLECTION}`;
const PING_PATH = `${PLATFORM_BASE}/devices/${DEVICE}/ping`;

export type Item = ListEnvelope['data'][number];

export const itemsFrom = (first: number, count: number): Item[] =>
  Array.from({ length: count }, (_, index) => ({
    object: 'device',
    id: `dvc_${first + index}`,
    name: `robot ${first + index}`,
  }));

export const DEPLOYMENT: Deployment = {
  object: 'deployment',
  id: 'dpl_Qa9Ws2',
  description: 'the second one',
  status: 'deployed',
  activity_status: 'deployed',
  error_status: 'none',
  target_status: 'deployed',
  device_id: DEVICE,
  release_id: 'rls_Kq7Lm3',
  created_at: '2026-05-06T10:00:00Z',
};

/** The error body that published implementations answer with. */
export const errorOf = (code: string): object => ({ error: { code, params: {}, message: `refused: ${code}` } });

export const isList = ({ method, path }: Asked): boolean => method === 'GET' && path === LIST_PATH;
export const isPing = ({ method, path }: Asked): boolean => method === 'POST' && path === PING_PATH;
/** The specification does not show the path by which a deployment is created. */
export const isDeploy = (asked: Asked): boolean => asked.method === 'POST' && !asked.path.endsWith('/ping');

/** Limit and offset of a request as the platform takes them (section 8). */
export function window(
  { query }: Asked,
  maximum: number = LIST_LIMITS.limitMaximum,
): { limit: number; offset: number } {
  const { limitDefault, limitMinimum, offsetDefault, offsetMinimum } = LIST_LIMITS;
  const limit = Math.trunc(Number(query.get('limit') ?? limitDefault)) || limitDefault;
  const offset = Math.trunc(Number(query.get('offset') ?? offsetDefault)) || offsetDefault;
  return { limit: Math.min(maximum, Math.max(limitMinimum, limit)), offset: Math.max(offsetMinimum, offset) };
}

export interface PagesOptions {
  /** Largest page. Default: that of the specification. */
  maximum?: number;
  /** Items that are left out of their page, as if the key had no right to see them. */
  hidden?(index: number): boolean;
}

/** Answers a request for a page of `all`. */
export function pageOf(
  asked: Asked,
  all: readonly Item[],
  { maximum, hidden = () => false }: PagesOptions = {},
): ListEnvelope {
  const { limit, offset } = window(asked, maximum);
  const data = all.slice(offset, offset + limit).filter((_, index) => !hidden(offset + index));
  const total = asked.query.getAll('expand').some((value) => value.split(',').includes('total_count'));
  return {
    ...{ object: 'list', limit, offset, has_more: offset + limit < all.length, data },
    ...(total ? { total_count: all.length } : {}),
  };
}

/** Answers each page of `all`. */
export const pages =
  (all: readonly Item[], options?: PagesOptions): Answering =>
  (asked) =>
    asked.answer(200, pageOf(asked, all, options));

/** Answers as a platform that is well, but for what a check says. */
export const platform =
  ({ list = pages(itemsFrom(1, 3)), ping = pong, deploy = deployed }: Answers = {}): Answering =>
  (asked, call) => {
    if (isList(asked)) return list(asked, call);
    if (isPing(asked)) return ping(asked, call);
    if (isDeploy(asked)) return deploy(asked, call);
    return asked.answer(404, errorOf('not_found'));
  };

interface Answers {
  list?: Answering | undefined;
  ping?: Answering | undefined;
  deploy?: Answering | undefined;
}

const pong: Answering = (asked) => asked.answer(200, { code: 'success', round_trip_nanos: 4_200_000 });
const deployed: Answering = (asked) => asked.answer(200, DEPLOYMENT);

/** Requests of the job itself, without what a client may ask besides. */
export const IS_ASKED = { list: isList, ping: isPing, deploy: isDeploy } as const;
export type PlatformJob = keyof typeof IS_ASKED;
export const PLATFORM_JOBS = Object.keys(IS_ASKED) as PlatformJob[];

/** The plainest check of each job: others mean nothing where it fails. */
export const PLAINEST = {
  list: 'client.pages.items',
  ping: 'client.ping.answer',
  deploy: 'client.deploy.shown',
  current: 'client.current.shown',
} as const;

/** What a check of a job needs, and rests on. */
export const about = <J extends keyof typeof PLAINEST>(job: J) =>
  ({ needs: [job], premises: [PLAINEST[job]] }) as const;

/** All items given to the caller once each, in any order, and no error told. */
export function expectItems(call: Call, all: readonly Item[]): void {
  const seen = call.saw('item').map(({ item }) => item.id);
  const missing = all.filter(({ id }) => !seen.includes(id)).map(({ id }) => id);
  const more = seen.filter((id, index) => seen.indexOf(id) !== index || !all.some((item) => item.id === id));
  call.must(missing.length === 0 && more.length === 0 && call.failure === undefined, {
    expected: `each of ${all.length} items once, and no error`,
    actual: `${described('missing', missing)}${described('more than once, or unknown', more)}${call.outcome}`,
  });
}

const described = (what: string, ids: readonly string[]): string =>
  ids.length === 0
    ? ''
    : `${what}: ${ids.slice(0, 8).join(', ')}${ids.length > 8 ? ` and ${ids.length - 8} more` : ''}; `;

/** The failure told to the caller, by a line or by an exit code other than 0. */
export function expectFailure(call: Call, what: string): void {
  call.must(call.failure !== undefined, {
    expected: `an error told for ${what}: {"saw":"error"} or an exit code other than 0`,
    actual: call.outcome,
  });
}
