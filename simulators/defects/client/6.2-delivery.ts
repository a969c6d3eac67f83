/** Defects of clients that lose events between two streams. */
import { defect, variant } from '../define-client.ts';

const TORN = [
  'client.delivery.torn.id',
  'client.delivery.torn.id-line',
  'client.delivery.torn.data',
  'client.delivery.torn.data-line',
];

export const defects = [
  defect('no-reconnect', 'Gives up when the stream ends.', ['client.delivery.reconnect'], {
    follow: { reconnect: () => undefined },
  }),
  defect('deaf-after-reconnect', 'Hands on what comes on the first stream only.', ['client.delivery.reconnect'], () => {
    let streams = 0;
    return {
      follow: ({ request, show }) => ({
        request: (path, cursor) => {
          streams += 1;
          return request(path, cursor);
        },
        show: (line) => (streams > 1 ? [] : show(line)),
      }),
    };
  }),
  defect(
    'queue-dropped-with-stream',
    'Hands events on a moment later, and none once its stream has ended.',
    ['client.delivery.reconnect.with-its-end', 'client.delivery.reconnect.with-its-cut'],
    { follow: { handsOnAfterMs: 20 } },
  ),
  defect('no-cursor', 'Asks without a cursor.', ['client.delivery.cursor'], {
    follow: ({ request }) => ({ request: (path) => request(path, undefined) }),
  }),
  defect('cursor-off-by-one', 'Asks for what comes after the event that it lacks.', ['client.delivery.cursor'], {
    follow: ({ request }) => ({
      request: (path, cursor) => request(path, cursor === undefined ? undefined : String(BigInt(cursor) + 1n)),
    }),
  }),
  defect('first-cursor', 'Names the first event that it ever got.', ['client.delivery.cursor'], {
    follow: { cursor: ({ id }, before) => before ?? (id === '' ? undefined : id) },
  }),
  defect('cursor-zero-dropped', 'Takes the id 0 for no id.', ['client.delivery.cursor.zero'], {
    follow: { cursor: ({ id }) => (id === '' || id === '0' ? undefined : id) },
  }),
  defect('cursor-misnamed', 'Sends its cursor as since.', ['client.delivery.cursor'], {
    follow: ({ request }) => ({
      request: (path, cursor) => request(cursor === undefined ? path : `${path}?since=${cursor}`, undefined),
    }),
  }),
  defect('double-ids', 'Keeps ids as floating-point numbers.', ['client.delivery.big-ids'], {
    follow: {
      cursor: ({ id }) => (id === '' ? undefined : String(Number(id))),
      idOf: (_, { id }) => Number(id),
    },
  }),
  defect(
    'rounded-ids-shown',
    'Shows ids as floating-point numbers, and sends them back exactly.',
    ['client.delivery.big-ids'],
    { follow: { idOf: (_, { id }) => String(Number(id)) } },
  ),
  defect('int32-ids', 'Keeps ids in 32 bits.', ['client.delivery.big-ids'], {
    follow: { cursor: ({ id }) => (id === '' ? undefined : String(Number(BigInt.asIntN(32, BigInt(id))))) },
  }),
  defect('cursor-at-id-line', 'Moves its cursor when the id comes, before the event is whole.', TORN.slice(1), {
    stream: { idAtOnce: true },
  }),
  defect(
    'torn-dispatched',
    'Hands on an event that the end of the stream cuts off.',
    ['client.delivery.torn.id', 'client.delivery.torn.data-line'],
    { stream: { atEnd: 'dispatch' } },
  ),
  defect('torn-id-taken', 'Takes an id that the end of the stream cuts off.', ['client.delivery.torn.id'], {
    stream: { atEnd: 'dispatch', isDispatched: ({ data }) => data !== '' },
  }),
  defect('duplicates-shown', 'Says that it deduplicates, and does not.', ['client.delivery.duplicates'], {
    follow: { deduplicates: false },
  }),
];

/** Adds the parameter `after`, unless a second defect in the same client has already added `after`. */
const withAfter = (path: string, cursor: string | undefined): string =>
  cursor === undefined || path.includes('?after=') ? path : `${path}?after=${cursor}`;

export const variants = [
  variant('leaves-its-streams', 'Leaves a stream after 20 events, and asks again from where it was.', {
    follow: { mostEvents: 20 },
  }),
  variant('after-cursor', 'Sends its cursor as after.', {
    follow: ({ request }) => ({
      request: (path, cursor) => request(withAfter(path, cursor), undefined),
    }),
  }),
  variant('both-cursors', 'Sends its cursor both ways.', {
    follow: ({ request }) => ({
      request: (path, cursor) => request(withAfter(path, cursor), cursor),
    }),
  }),
  variant('envelope-id', 'Takes ids from the envelope, and from the frame those beyond 2^53.', {
    follow: { idOf: ({ id }, block) => (Number.isSafeInteger(id) ? Number(id) : block.id) },
  }),
];
