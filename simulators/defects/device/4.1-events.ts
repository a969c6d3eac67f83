import { isEventType } from '../../../harness/contract/enums.ts';
import type { StoredEvent } from '../../device/log/line.ts';
import {
  answered,
  asksForEvents,
  choosing,
  type DeviceChanges,
  defect,
  losingFirstLive,
  onRequest,
  onSome,
  refusals,
  resolving,
  rewritten,
  variant,
} from '../define-device.ts';

const CURSOR_MALFORMED = ['device.events.cursor.malformed'];
const malformedAs = (status: number) => ({ http: refusals(({ code }) => code === 'invalid_cursor', { status }) });

const TYPES = ['device.events.types'];
const typesReadAs = (name: string, summary: string, read: (raw: string) => string[]) =>
  defect(name, summary, TYPES, () => {
    let raw: string | undefined;
    return {
      http: onRequest(({ url = '' }) => (raw = /[?&]types=([^&]*)/.exec(url)?.[1])),
      stream: { parseTypes: () => (raw === undefined ? undefined : new Set(read(raw))) },
    };
  });

const HEADER = ['device.events.header-cursor'];
const AFTER_WINS = ['device.events.after-wins'];
const cursorOfBoth = (choose: (...cursors: number[]) => number): DeviceChanges => ({
  stream: ({ chooseCursor }) => ({
    chooseCursor: ({ after, lastEventId }) => {
      const cursors = [chooseCursor({ after, lastEventId: undefined }), chooseCursor({ after: [], lastEventId })];
      const numbers = cursors.filter((cursor) => typeof cursor === 'number');
      return cursors.includes('malformed') ? 'malformed' : numbers.length === 0 ? 'none' : choose(...numbers);
    },
  }),
});

export const defects = [
  defect('malformed-is-none', 'Treats a malformed cursor as no cursor.', CURSOR_MALFORMED, {
    stream: choosing((cursor) => (cursor === 'malformed' ? 'none' : cursor)),
  }),
  defect('malformed-is-expired', 'Answers a malformed cursor with 410.', CURSOR_MALFORMED, malformedAs(410)),
  defect('malformed-read-loosely', 'Reads as much of a cursor as looks like a number.', CURSOR_MALFORMED, {
    stream: {
      chooseCursor: ({ after, lastEventId }) => {
        const text = after[0] ?? lastEventId;
        if (text === undefined) return 'none';
        const cursor = Number.parseInt(text, 10);
        return Number.isNaN(cursor) ? 'malformed' : Math.min(cursor, Number.MAX_SAFE_INTEGER);
      },
    },
  }),
  defect('malformed-crashes', 'Answers a malformed cursor with 500.', CURSOR_MALFORMED, malformedAs(500)),
  defect(
    'first-event-without-cursor-lost',
    'Loses the first event of a stream that was opened without a cursor.',
    ['device.events.no-cursor.live'],
    () => {
      let cursorless = false;
      return {
        stream: ({ resolveCursor, session }) => ({
          resolveCursor: (cursor, retained) => {
            cursorless = cursor === 'none';
            return resolveCursor(cursor, retained);
          },
          session: (subscription) => (cursorless ? losingFirstLive() : session(subscription)),
        }),
      };
    },
  ),
  defect('after-comes-first', 'Knows after as the first parameter alone, so that types before it hide it.', TYPES, {
    http: onRequest((request) => {
      const { url = '' } = request;
      if (/\/events\?(?!after)/.test(url)) request.url = url.replaceAll(/&after=[^&]*/g, '');
    }),
  }),
  defect('types-ignored', 'Sends all types whatever the filter says.', TYPES, { stream: { wants: () => true } }),
  defect('types-ignored-in-replay', 'Filters live events, and replays all.', TYPES, {
    stream: ({ wants }) => ({ wants: (filter, type, phase) => phase === 'replay' || wants(filter, type, phase) }),
  }),
  defect('types-ignored-live', 'Filters the replay, and sends all live events.', TYPES, {
    stream: ({ wants }) => ({ wants: (filter, type, phase) => phase === 'live' || wants(filter, type, phase) }),
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
  defect('types-lose-header', 'Forgets Last-Event-ID when there is a filter.', TYPES, {
    http: onRequest(({ url = '', headers }) => {
      if (url.includes('types=')) delete headers['last-event-id'];
    }),
  }),
  typesReadAs('types-undecoded', 'Compares types as they are written in the URL, still percent-encoded.', (raw) =>
    raw.split(','),
  ),
  typesReadAs('types-comma-undecoded', 'Splits the list of types before it is decoded.', (raw) =>
    raw.split(',').map(decodeURIComponent),
  ),
  defect('header-ignored', 'Ignores Last-Event-ID.', ['device.events.header-cursor', 'device.events.client'], {
    stream: ({ chooseCursor }) => ({ chooseCursor: ({ after }) => chooseCursor({ after, lastEventId: undefined }) }),
  }),
  defect('header-in-lower-case', 'Knows Last-Event-ID in lower case alone.', HEADER, {
    http: onRequest(({ rawHeaders, headers }) => {
      if (!rawHeaders.includes('last-event-id')) delete headers['last-event-id'];
    }),
  }),
  defect('header-needs-close', 'Ignores Last-Event-ID unless the request has Connection: close.', HEADER, {
    http: onRequest(({ headers }) => {
      if (headers.connection !== 'close') delete headers['last-event-id'];
    }),
  }),
  defect('stream-needs-accept', 'Answers 406 unless Accept is text/event-stream alone.', HEADER, {
    http: onSome(
      (request, response) =>
        asksForEvents(request) && request.headers.accept !== 'text/event-stream' && answered(response, 406),
    ),
  }),
  defect('stream-refuses-gzip', 'Answers 406 to a request for events with gzip in Accept-Encoding.', HEADER, {
    http: onSome(
      (request, response) =>
        asksForEvents(request) && /gzip/.test(String(request.headers['accept-encoding'])) && answered(response, 406),
    ),
  }),
  defect('header-inclusive', 'Repeats the event that Last-Event-ID names.', HEADER, {
    stream: choosing((cursor, { after }) =>
      typeof cursor === 'number' && after.length === 0 ? Math.max(0, cursor - 1) : cursor,
    ),
  }),
  defect('header-wins', 'Lets Last-Event-ID win over after.', AFTER_WINS, {
    stream: ({ chooseCursor }) => ({
      chooseCursor: ({ after, lastEventId }) =>
        chooseCursor({ after: lastEventId === undefined ? after : [], lastEventId }),
    }),
  }),
  defect('larger-cursor-wins', 'Takes the larger of after and Last-Event-ID.', AFTER_WINS, cursorOfBoth(Math.max)),
  defect('smaller-cursor-wins', 'Takes the smaller of after and Last-Event-ID.', AFTER_WINS, cursorOfBoth(Math.min)),
  defect('zero-loses-to-header', 'Ignores after=0 when there is a Last-Event-ID header.', AFTER_WINS, {
    // Keeps all events, because a device that has removed some would refuse after=0.
    log: { keepFrom: ({ earliest }) => earliest },
    stream: ({ chooseCursor }) => ({
      chooseCursor: ({ after, lastEventId }) =>
        chooseCursor({ after: lastEventId === undefined ? after : after.filter((id) => id !== '0'), lastEventId }),
    }),
  }),
];

export const variants = [
  variant('malformed-is-422', 'Answers a malformed cursor with 422.', malformedAs(422)),
  variant('replay-without-cursor', 'Replays everything retained when there is no cursor (section 4.1 is silent).', {
    stream: resolving((after, cursor, { earliest }) => (cursor === 'none' ? earliest - 1 : after)),
  }),
  variant('future-cursor-refused', 'Refuses a cursor beyond the newest event with 400 (section 4.1 is silent).', () => {
    let future = false;
    return {
      stream: resolving((after, cursor, { latest }) => {
        future = cursor !== 'none' && cursor > latest;
        return future ? 'expired' : after;
      }),
      http: refusals(({ code }) => future && code === 'cursor_expired', { status: 400, code: 'invalid_cursor' }),
    };
  }),
  variant(
    'unknown-types-refused',
    'Refuses a filter that names a type it never sends, with 400 (section 4.1 is silent).',
    {
      http: onSome(({ url = '/' }, response) => {
        const types = new URL(url, 'http://device').searchParams.getAll('types').flatMap((list) => list.split(','));
        return types.some((type) => !isEventType(type)) && answered(response, 400);
      }),
    },
    { alternative: 'event-types' },
  ),
];
