import { isEventType } from '../../../harness/contract/enums.ts';
import type { StoredEvent } from '../../device/log/line.ts';
import { type DeviceChanges, defect, onForm, onRequest, onSome, rewritten, variant } from '../define-device.ts';

const TYPES = ['device.events.types'];

const typesFromUrl = (read: (raw: string) => string[]) => (): DeviceChanges => {
  let raw: string | undefined;
  return {
    ...onRequest(({ url = '' }) => {
      raw = /[?&]types=([^&]*)/.exec(url)?.[1];
    }),
    stream: { parseTypes: () => (raw === undefined ? undefined : new Set(read(raw))) },
  };
};

export const defects = [
  defect(
    'after-comes-first',
    'Knows after as the first parameter alone, so that types before it hide it.',
    ['device.events.types'],
    onForm(
      ({ url = '' }) => /\/events(\?after|$|\?(?!.*after))/.test(url),
      ({ lastEventId }) => ({ after: [], lastEventId }),
    ),
  ),
  defect('types-ignored', 'Sends all types whatever the filter says.', TYPES, { stream: { wants: () => true } }),
  defect('types-ignored-in-replay', 'Filters live events, and replays all.', TYPES, {
    stream: ({ wants }) => ({
      wants: (filter, type, phase) => phase === 'replay' || wants(filter, type, phase),
    }),
  }),
  defect('types-ignored-live', 'Filters the replay, and sends all live events.', TYPES, {
    stream: ({ wants }) => ({
      wants: (filter, type, phase) => phase === 'live' || wants(filter, type, phase),
    }),
  }),
  defect('types-by-resource', 'Compares only the resource of a type.', TYPES, {
    stream: {
      wants: (filter, type) => {
        const resource = (name: string): string | undefined => name.split('.')[0];
        return filter === undefined || [...filter].some((wanted) => resource(wanted) === resource(type));
      },
    },
  }),
  defect('types-renumber', 'Renumbers filtered events without gaps.', TYPES, {
    stream: {
      session: ({ after, filter }) => {
        if (!filter) return undefined;
        let id = after;
        const renumbered = (events: readonly StoredEvent[]) =>
          events
            .filter(({ type }) => filter.has(type))
            .map((event) => {
              id += 1;
              return { ...rewritten(event, (envelope) => ({ ...envelope, id })), id };
            });
        return { replay: renumbered, live: renumbered };
      },
    },
  }),
  defect('types-swallow-replay', 'Ends a filtered replay at the first event that is not wanted.', TYPES, {
    stream: {
      session: ({ filter }) => {
        let ended = false;
        return {
          replay: (events) =>
            events.filter(({ type }) => {
              ended ||= filter !== undefined && !filter.has(type);
              return !ended;
            }),
        };
      },
    },
  }),
  defect('types-by-prefix', 'Lets an event through when its type and a listed one begin alike.', TYPES, {
    stream: {
      wants: (filter, type) =>
        filter === undefined || [...filter].some((other) => type.startsWith(other) || other.startsWith(type)),
    },
  }),
  defect('types-need-a-cursor', 'Ignores the filter of a request without a cursor.', TYPES, () => {
    let cursor: unknown;
    return {
      stream: ({ chooseCursor, parseTypes }) => ({
        chooseCursor: (request) => {
          const chosen = chooseCursor(request);
          cursor = chosen;
          return chosen;
        },
        parseTypes: (values) => (cursor === 'none' ? undefined : parseTypes(values)),
      }),
    };
  }),
  defect(
    'types-lose-header',
    'Forgets Last-Event-ID when there is a filter.',
    TYPES,
    onRequest(({ url, headers }) => {
      if (url?.includes('types=') === true) delete headers['last-event-id'];
    }),
  ),
  defect(
    'types-undecoded',
    'Compares types as they are written in the URL, still percent-encoded.',
    TYPES,
    typesFromUrl((raw) => raw.split(',')),
  ),
  defect(
    'types-comma-undecoded',
    'Splits the list of types before it is decoded.',
    TYPES,
    typesFromUrl((raw) => raw.split(',').map(decodeURIComponent)),
  ),
];

export const variants = [
  variant(
    'unknown-types-refused',
    'Refuses a filter that names a type it never sends, with 400 (section 4.1 is silent).',
    onSome((request, response) => {
      const { searchParams } = new URL(request.url ?? '/', 'http://device');
      const unknown = searchParams
        .getAll('types')
        .flatMap((types) => types.split(','))
        .some((type) => !isEventType(type));
      if (unknown) response.writeHead(400).end();
      return unknown;
    }),
    { alternative: 'event-types' },
  ),
];
