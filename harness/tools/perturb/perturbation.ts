/** Defines perturbations: changes that a proxy makes to one class of requests or answers. */
import type { Api } from '../../../fixtures/servers/languages.ts';
import type { Random } from '../../../simulators/common/random.ts';

/** Query of a list: none, `limit` or `offset`, `expand=total_count`, a different expansion, or a filter. */
export type Form = 'plain' | 'paged' | 'counted' | 'expanded' | 'filtered';

/** Class of requests with their answers; an absent field matches any value. */
export interface Cell {
  /** E.g. `GET /devices/{device_id}` or `GET /events`. */
  operation?: string | undefined;
  version?: string | undefined;
  /** `none`: a missing or unknown key. */
  key?: 'full' | 'limited' | 'none' | undefined;
  form?: Form | undefined;
  /** `kept`: a connection with an earlier request. */
  connection?: 'new' | 'kept' | undefined;
  restarted?: boolean | undefined;
  activity?: string | undefined;
  cursor?: 'none' | 'query' | 'header' | 'both' | undefined;
  typed?: boolean | undefined;
  stream?: number | undefined;
  /** `replay`: events that occurred before the stream opened; `live`: later events. */
  phase?: 'replay' | 'live' | undefined;
  /** Position of an event in its phase, from 1; `last`: the last event of a replay. */
  place?: number | 'last' | undefined;
  type?: string | undefined;
}

export const isWithin = (cell: Cell, seen: Cell): boolean =>
  (Object.keys(seen) as (keyof Cell)[]).every((name) => (cell[name] ?? seen[name]) === seen[name]);

/** `one`: a single record, changed in every list that contains it. */
export const ITEMS = ['each', 'first', 'last', 'one'] as const;
export type Item = (typeof ITEMS)[number];

export interface Drawn {
  kind: Kind;
  cell: Cell;
  /** Names that lead to the changed member, in a record or in the envelope of a list or event. */
  path?: readonly string[] | undefined;
  item?: Item | undefined;
  value?: string | undefined;
}

export interface Perturbation extends Drawn {
  api: Api;
  seed: number;
  server: string;
}

const KINDS = {
  member: {
    dropped: 'without the member',
    null: 'the member is null',
    retyped: 'the member has another type',
    altered: 'the member has another value of its type',
    shifted: 'the time is an hour off',
    foreign: 'the member is that of another record',
    stale: 'as before the last write to the record',
  },
  page: {
    'item-lost': 'an item is missing',
    'item-doubled': 'an item is there twice',
    'item-repeated': 'an item stands in place of the next one',
    'items-swapped': 'two items have changed places',
    'creation-undone': 'without what was created',
    counted: 'total_count, for which nobody asked',
  },
  request: {
    'let-through': 'what has to be refused is served',
    'other-version': 'as another version has it',
    'query-lost': 'the parameter is ignored',
    'body-lost': 'the member of the body is ignored',
    'header-lost': 'the header is ignored',
    'cursor-inclusive': 'the replay begins with the cursor itself',
    'types-cut': 'of the types, only the first counts',
  },
  status: {
    refused: 'an error in place of an answer',
    status: 'another success',
    media: 'another media type',
  },
  frame: {
    lost: 'the event is missing',
    doubled: 'the event comes twice',
    late: 'the event comes with the next one',
    reordered: 'the event comes after the next one',
    'id-altered': 'the field id is another number',
    'id-dropped': 'without the field id',
    'event-altered': 'the field event is another type',
    'event-dropped': 'without the field event',
    'heartbeat-lost': 'no heartbeat after the first one',
  },
  json: {
    'member-added': 'one member more',
    'members-reversed': 'members in another order',
    whitespace: 'JSON over several lines',
    'number-form': 'numbers with a fraction of 0',
    escaped: 'letters as escapes',
    'time-form': 'the same time in another form',
  },
  bytes: {
    'header-case': 'names of headers in capitals',
    'header-order': 'headers in another order',
    'header-added': 'one header more',
    split: 'bytes a few at a time',
    slower: 'some milliseconds later',
    closed: 'the connection ends after the answer',
  },
  stream: {
    'comment-added': 'one comment more',
    'field-added': 'a field that nobody knows',
    'fields-reversed': 'fields in another order',
    'line-ends': 'lines end with CR LF',
    unspaced: 'no space after the colon',
    'data-split': 'data over several lines',
  },
} as const;
export type KindGroup = keyof typeof KINDS;
export type Kind = { [S in KindGroup]: keyof (typeof KINDS)[S] }[KindGroup];

const GROUPS = new Map(
  (Object.keys(KINDS) as KindGroup[]).flatMap((group) => kindsOf(group).map((kind) => [kind, group] as const)),
);
export const groupOf = (kind: Kind): KindGroup => GROUPS.get(kind) as KindGroup;

export function kindsOf(...groups: readonly KindGroup[]): Kind[] {
  return groups.flatMap((group) => Object.keys(KINDS[group]) as Kind[]);
}

export const descriptionOf = (kind: Kind): string =>
  (KINDS[groupOf(kind)] as Readonly<Record<string, string>>)[kind] ?? '';

/** True for a legal change, which breaks no promise of the specification. */
export const isOpen = (kind: Kind): boolean => ['json', 'bytes', 'stream'].includes(groupOf(kind));

export const sometimes = <T>(chance: Random, probability: number, values: readonly T[]): T | undefined =>
  chance.chance(probability) ? chance.pick(values) : undefined;

export function cellText({ cell: { operation = 'any operation', ...rest }, path, item, value }: Drawn): string {
  const fixed = Object.entries(rest).flatMap(([name, one]) => (one === undefined ? [] : [`${name}=${one}`]));
  const members = path === undefined ? [] : [`${item === undefined ? '' : `${item} item: `}${path.join('.')}`];
  return [operation, ...fixed, ...members, ...(value === undefined ? [] : [value])].join(' · ');
}
