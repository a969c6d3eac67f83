import { defect, refusals, variant } from '../define-device.ts';

const CURSOR_MALFORMED = ['device.events.cursor.malformed'];

export const defects = [
  defect('malformed-is-none', 'Treats a malformed cursor as no cursor.', CURSOR_MALFORMED, {
    stream: ({ chooseCursor }) => ({
      chooseCursor: (request) => {
        const cursor = chooseCursor(request);
        return cursor === 'malformed' ? 'none' : cursor;
      },
    }),
  }),
  defect(
    'malformed-is-expired',
    'Answers a malformed cursor with 410.',
    CURSOR_MALFORMED,
    refusals(({ code }) => code === 'invalid_cursor', { status: 410 }),
  ),
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
  defect(
    'malformed-crashes',
    'Answers a malformed cursor with 500.',
    CURSOR_MALFORMED,
    refusals(({ code }) => code === 'invalid_cursor', { status: 500 }),
  ),
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
          session: (subscription) => {
            let lost = !cursorless;
            if (lost) return session(subscription);
            return {
              live: (events) => {
                if (lost) return events;
                lost = true;
                return events.slice(1);
              },
            };
          },
        }),
      };
    },
  ),
];

export const variants = [
  variant(
    'malformed-is-422',
    'Answers a malformed cursor with 422.',
    refusals(({ code }) => code === 'invalid_cursor', { status: 422 }),
  ),
  variant('replay-without-cursor', 'Replays everything retained when there is no cursor (section 4.1 is silent).', {
    stream: ({ resolveCursor }) => ({
      resolveCursor: (cursor, retained) =>
        cursor === 'none' ? retained.earliest - 1 : resolveCursor(cursor, retained),
    }),
  }),
  variant('future-cursor-refused', 'Refuses a cursor beyond the newest event with 400 (section 4.1 is silent).', {
    stream: ({ chooseCursor }) => ({
      chooseCursor: (request) => {
        const cursor = chooseCursor(request);
        return typeof cursor === 'number' && cursor > 2 ** 40 ? 'malformed' : cursor;
      },
    }),
  }),
];
