import { type DeviceChanges, defect, onForm } from '../define-device.ts';

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
  defect('header-ignored', 'Ignores Last-Event-ID.', ['device.events.header-cursor', 'device.events.client'], {
    stream: ({ chooseCursor }) => ({
      chooseCursor: ({ after }) => chooseCursor({ after, lastEventId: undefined }),
    }),
  }),
  defect(
    'header-in-lower-case',
    'Knows Last-Event-ID in lower case alone.',
    ['device.events.header-cursor'],
    onForm(
      ({ rawHeaders }) => rawHeaders.includes('last-event-id'),
      ({ after }) => ({ after, lastEventId: undefined }),
    ),
  ),
  defect('header-inclusive', 'Repeats the event that Last-Event-ID names.', ['device.events.header-cursor'], {
    stream: ({ chooseCursor }) => ({
      chooseCursor: (request) => {
        const cursor = chooseCursor(request);
        return typeof cursor === 'number' && request.after.length === 0 ? Math.max(0, cursor - 1) : cursor;
      },
    }),
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
    // Keeps all events in the log, because a device that has lost events refuses after=0.
    log: { keepFrom: ({ earliest }) => earliest },
    stream: ({ chooseCursor }) => ({
      chooseCursor: ({ after, lastEventId }) =>
        chooseCursor({
          after: lastEventId === undefined ? after : after.filter((id) => id !== '0'),
          lastEventId,
        }),
    }),
  }),
];
