/** One change of one class of exchanges, as data: what the seed draws, and what the proxy does. */

import type { Api } from '../../../fixtures/servers/languages.ts';
import type { Random } from '../../../simulators/common/random.ts';

/** How a list or a record is asked for: without a query, as a page, with its count, with an expansion, by a filter. */
export const FORMS = ['plain', 'paged', 'counted', 'expanded', 'filtered'] as const;
export type Form = (typeof FORMS)[number];

/** Which exchanges are changed. A dimension that is absent holds for all. */
export interface Cell {
  /** `GET /devices/{device_id}`; on a device `GET /deployments/current` or `GET /events`. */
  operation?: string;
  /** Value of the version header. */
  version?: string;
  /** `none` is a key that is missing, or that was not issued. */
  key?: 'full' | 'limited' | 'none';
  form?: Form;
  /** Whether the connection was used by a request before. */
  connection?: 'new' | 'kept';
  /** After a restart of the agent, or before any. */
  restarted?: boolean;
  /** Of a deployment that is shown. */
  activity?: string;
  /** What a stream is asked for. */
  cursor?: 'none' | 'query' | 'header' | 'both';
  typed?: boolean;
  /** The nth stream, from 1 on. */
  stream?: number;
  /** Events from before the request, or after it. */
  phase?: 'replay' | 'live';
  /** The nth event of its phase, from 1 on; or the last one of a replay. */
  place?: number | 'last';
  type?: string;
}

/** Items of a page that are changed; `one` is always the same record, wherever it is shown. */
export const ITEMS = ['each', 'first', 'last', 'one'] as const;
export type Item = (typeof ITEMS)[number];

export interface Perturbation {
  api: Api;
  seed: number;
  /** Of `SERVERS`. */
  server: string;
  kind: Kind;
  cell: Cell;
  /** Members from the record, the envelope of a list or the envelope of an event on. */
  path?: readonly string[];
  /** Where the path begins at the items of a list. */
  item?: Item;
  /** Argument of the kind: a parameter, a version or a status. */
  value?: string;
}

/**
 * Kinds by what they change. `open` ones are legal: the specification promises nothing that they break. All others
 * break a promise, or make an answer differ from one that is not changed.
 */
export const KINDS = {
  dropped: { of: 'member', text: 'without the member' },
  null: { of: 'member', text: 'the member is null' },
  retyped: { of: 'member', text: 'the member has another type' },
  altered: { of: 'member', text: 'the member has another value of its type' },
  shifted: { of: 'member', text: 'the time is an hour off' },
  foreign: { of: 'member', text: 'the member is that of another record' },
  stale: { of: 'member', text: 'as before the last write to the record' },

  'item-lost': { of: 'page', text: 'an item is missing' },
  'item-doubled': { of: 'page', text: 'an item is there twice' },
  'item-repeated': { of: 'page', text: 'an item stands in place of the next one' },
  'items-swapped': { of: 'page', text: 'two items have changed places' },
  'creation-undone': { of: 'page', text: 'without what was created' },
  counted: { of: 'page', text: 'total_count, for which nobody asked' },

  'let-through': { of: 'request', text: 'what has to be refused is served' },
  'other-version': { of: 'request', text: 'as another version has it' },
  'query-lost': { of: 'request', text: 'the parameter is ignored' },
  'body-lost': { of: 'request', text: 'the member of the body is ignored' },
  'header-lost': { of: 'request', text: 'the header is ignored' },
  'cursor-inclusive': { of: 'request', text: 'the replay begins with the cursor itself' },
  'types-cut': { of: 'request', text: 'of the types, only the first counts' },

  refused: { of: 'status', text: 'an error in place of an answer' },
  status: { of: 'status', text: 'another success' },
  media: { of: 'status', text: 'another media type' },

  lost: { of: 'frame', text: 'the event is missing' },
  doubled: { of: 'frame', text: 'the event comes twice' },
  late: { of: 'frame', text: 'the event comes with the next one' },
  reordered: { of: 'frame', text: 'the event comes after the next one' },
  'id-altered': { of: 'frame', text: 'the field id is another number' },
  'id-dropped': { of: 'frame', text: 'without the field id' },
  'event-altered': { of: 'frame', text: 'the field event is another type' },
  'event-dropped': { of: 'frame', text: 'without the field event' },
  'heartbeat-lost': { of: 'frame', text: 'no heartbeat after the first one' },

  'member-added': { of: 'json', open: true, text: 'one member more' },
  'members-reversed': { of: 'json', open: true, text: 'members in another order' },
  whitespace: { of: 'json', open: true, text: 'JSON over several lines' },
  'number-form': { of: 'json', open: true, text: 'numbers with a fraction of 0' },
  escaped: { of: 'json', open: true, text: 'letters as escapes' },
  'time-form': { of: 'json', open: true, text: 'the same time in another form' },

  'header-case': { of: 'bytes', open: true, text: 'names of headers in capitals' },
  'header-order': { of: 'bytes', open: true, text: 'headers in another order' },
  'header-added': { of: 'bytes', open: true, text: 'one header more' },
  split: { of: 'bytes', open: true, text: 'bytes a few at a time' },
  slower: { of: 'bytes', open: true, text: 'some milliseconds later' },
  closed: { of: 'bytes', open: true, text: 'the connection ends after the answer' },

  'comment-added': { of: 'stream', open: true, text: 'one comment more' },
  'field-added': { of: 'stream', open: true, text: 'a field that nobody knows' },
  'fields-reversed': { of: 'stream', open: true, text: 'fields in another order' },
  'line-ends': { of: 'stream', open: true, text: 'lines end with CR LF' },
  unspaced: { of: 'stream', open: true, text: 'no space after the colon' },
  'data-split': { of: 'stream', open: true, text: 'data over several lines' },
} as const satisfies Record<string, { of: string; open?: true; text: string }>;
export type Kind = keyof typeof KINDS;

/** What is drawn for a server. */
export type Drawn = Pick<Perturbation, 'kind' | 'cell'> & Partial<Perturbation>;

export const maybe = <T>(chance: Random, probability: number, values: readonly T[]): T | undefined =>
  chance.chance(probability) ? chance.pick(values) : undefined;

export const isOpen = (kind: Kind): boolean => 'open' in KINDS[kind];

/** Kinds that change the same thing. */
export const kindsOf = (...things: string[]): Kind[] =>
  (Object.keys(KINDS) as Kind[]).filter((kind) => things.includes(KINDS[kind].of));

/** The cell in one line: operation, then each dimension that is fixed. */
export function cellText({ cell: { operation = 'any operation', ...rest }, path, item, value }: Perturbation): string {
  const fixed = Object.entries(rest).map(([name, one]) => `${name}=${one}`);
  const members = path === undefined ? [] : [`${item === undefined ? '' : `${item} item: `}${path.join('.')}`];
  return [operation, ...fixed, ...members, ...(value === undefined ? [] : [value])].join(' · ');
}
