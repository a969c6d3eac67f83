/** A Platform API as the specification has it, for calls of a client: what it answers where a check says nothing else. */
import { type ClientJob, filledIn, jobOf, PLATFORM_JOBS, type PlatformJob } from '../../../harness/contract/client.ts';
import { LIST_LIMITS } from '../../../harness/contract/limits.ts';
import type { ListEnvelope } from '../../../harness/contract/lists.ts';
import { type Answering, type Call, PLATFORM_BASE } from './call.ts';
import type { Asked } from './stage.ts';

const pathOf = (job: PlatformJob): string => {
  const { request, given } = jobOf(job);
  return `${PLATFORM_BASE}${filledIn(request.path, given)}`;
};
export const LIST_PATH = pathOf('list');

export type Item = ListEnvelope['data'][number];

export const itemsFrom = (first: number, count: number): Item[] =>
  Array.from({ length: count }, (_, index) => ({
    object: 'device',
    id: `dvc_${first + index}`,
    name: `robot ${first + index}`,
  }));

/** The error body that published implementations answer with. */
export const errorOf = (code: string): object => ({ error: { code, params: {}, message: `refused: ${code}` } });

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

/** Whether a request is that of the job itself, and not what a client may ask besides. */
function isAskedBy(job: PlatformJob): (asked: Asked) => boolean {
  const { method, isPathOpen } = jobOf(job).request;
  if (isPathOpen !== true) return (asked) => asked.method === method && asked.path === pathOf(job);
  const others = PLATFORM_JOBS.filter((other) => {
    const { request } = jobOf(other);
    return request.method === method && request.isPathOpen !== true;
  });
  const endings = others.map((other) => pathOf(other).replace(/.*\//, '/'));
  return (asked) => asked.method === method && !endings.some((ending) => asked.path.endsWith(ending));
}
export const IS_ASKED = Object.fromEntries(PLATFORM_JOBS.map((job) => [job, isAskedBy(job)])) as Readonly<
  Record<PlatformJob, (asked: Asked) => boolean>
>;

/** Answers as a platform that is well, but for what a check says. */
export const platform =
  (answers: Partial<Record<PlatformJob, Answering | undefined>> = {}): Answering =>
  (asked, call) => {
    const job = PLATFORM_JOBS.find((each) => IS_ASKED[each](asked));
    if (job === undefined) return asked.answer(404, errorOf('not_found'));
    const { answer } = jobOf(job);
    const usual = answer === undefined ? pages(itemsFrom(1, 3)) : (): void => asked.answer(200, answer);
    return (answers[job] ?? usual)(asked, call);
  };

/** What a check of a job needs, and rests on. */
export const about = <J extends ClientJob>(job: J) => ({ needs: [job], premises: [jobOf(job).plainest] }) as const;

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
