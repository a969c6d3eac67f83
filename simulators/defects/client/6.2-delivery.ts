import { deployedPayload } from '../../../harness/contract/device-api.ts';
import type { Envelope, FollowBehaviour } from '../../client/behaviour.ts';
import { defect, isDeploymentStatus, variant } from '../define-client.ts';

const UNKNOWN_MEMBERS = ['client.dispatch.unknown-members'];
const BIG_IDS = ['client.delivery.big-ids'];

const KNOWN = ['deployment.deployed', 'deployment.removed'];
const DEPLOYED = Object.keys(deployedPayload.schema.properties);

const keeping =
  (isKept: (found: Envelope) => boolean) =>
  ({ envelope }: FollowBehaviour): Pick<FollowBehaviour, 'envelope'> => ({
    envelope: (block) => {
      const found = envelope(block);
      return found !== undefined && isKept(found) ? found : undefined;
    },
  });

/** Another variant in the same client may already have added `after`. */
const withAfter = (path: string, cursor: string | undefined): string =>
  cursor === undefined || path.includes('?after=') ? path : `${path}?after=${cursor}`;

export const defects = [
  defect('by-event-field', 'Dispatches by the event field.', ['client.dispatch.envelope-type'], {
    follow: { typeOf: (_, { event }) => event || 'message' },
  }),
  defect('event-field-required', 'Leaves out an event without an event field.', ['client.dispatch.envelope-type'], {
    follow: ({ typeOf }) => ({ typeOf: (each, block) => (block.event === '' ? undefined : typeOf(each, block)) }),
  }),
  defect('deployed-only', 'Knows no type but deployment.deployed.', ['client.dispatch.removed'], {
    follow: ({ typeOf }) => ({ typeOf: (each, block) => (each.type === KNOWN[0] ? typeOf(each, block) : undefined) }),
  }),
  defect('removed-needs-payload', 'Wants a release in every payload.', ['client.dispatch.removed'], {
    follow: keeping(({ data }) => 'release_id' in Object(data)),
  }),
  defect('unknown-type-crashes', 'Breaks down at a type that it does not know.', ['client.dispatch.unknown-type'], {
    follow: ({ typeOf }) => ({
      typeOf: (envelope, block) => {
        if (!KNOWN.includes(String(envelope.type))) throw new Error(`unknown type ${envelope.type}`);
        return typeOf(envelope, block);
      },
    }),
  }),
  defect('strict-members', 'Leaves out an event with members that it does not know.', UNKNOWN_MEMBERS, {
    follow: keeping((found) =>
      Object.keys(found).every((name) => ['object', 'id', 'type', 'occurred_at', 'data'].includes(name)),
    ),
  }),
  defect('strict-order', 'Reads the envelope by its members’ places.', UNKNOWN_MEMBERS, {
    follow: ({ envelope }) => ({
      envelope: (block) => (/^\{\s*"object"\s*:/.test(block.data) ? envelope(block) : undefined),
    }),
  }),
  defect(
    'strict-values',
    'Leaves out an event with a status that it does not know.',
    ['client.dispatch.unknown-values'],
    {
      follow: keeping(({ data }) => {
        const { status } = Object(data) as { status?: unknown };
        return status === undefined || isDeploymentStatus(status);
      }),
    },
  ),
  defect('short-ids', 'Keeps 64 characters of the ids in a payload.', ['client.dispatch.unknown-values'], {
    follow: ({ show }) => ({
      show: (line) => {
        const data = Object.entries(Object(line['data'])).map(([name, value]) => [
          name,
          typeof value === 'string' && name.endsWith('_id') ? value.slice(0, 64) : value,
        ]);
        return show({ ...line, data: Object.fromEntries(data) });
      },
    }),
  }),
  defect('small-numbers', 'Leaves out an event with a number that no double holds.', UNKNOWN_MEMBERS, {
    follow: ({ envelope }) => ({
      envelope: (block) => (/[^"\w]\d{16,}[,}\]]/.test(block.data) ? undefined : envelope(block)),
    }),
  }),
  defect('unreadable-crashes', 'Breaks down at data that is no JSON.', ['client.dispatch.unreadable'], {
    follow: { envelope: ({ data }) => JSON.parse(data) },
  }),
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
    { follow: { handsOnAfterMs: 300 } },
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
  defect('double-ids', 'Keeps ids as floating-point numbers.', BIG_IDS, {
    follow: { cursor: ({ id }) => (id === '' ? undefined : String(Number(id))), idOf: (_, { id }) => Number(id) },
  }),
  defect('rounded-ids-shown', 'Shows ids as floating-point numbers, and sends them back exactly.', BIG_IDS, {
    follow: { idOf: (_, { id }) => String(Number(id)) },
  }),
  defect('int32-ids', 'Keeps ids in 32 bits.', BIG_IDS, {
    follow: { cursor: ({ id }) => (id === '' ? undefined : String(Number(BigInt.asIntN(32, BigInt(id))))) },
  }),
  defect(
    'cursor-at-id-line',
    'Moves its cursor when the id comes, before the event is whole.',
    ['client.delivery.torn.id-line', 'client.delivery.torn.data', 'client.delivery.torn.data-line'],
    { stream: { idAtOnce: true } },
  ),
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
  defect('replay-cut-short', 'Takes 200 events of a connection.', ['client.delivery.long-replay'], {
    stream: ({ isDispatched }) => {
      let left = 200;
      return { isDispatched: (block, lines) => isDispatched(block, lines) && left-- > 0 };
    },
  }),
];

export const variants = [
  variant('known-types-only', 'Leaves out types that it does not know.', {
    follow: ({ typeOf }) => ({
      typeOf: (envelope, block) => (KNOWN.includes(String(envelope.type)) ? typeOf(envelope, block) : undefined),
    }),
  }),
  variant('known-members-only', 'Hands on the members of a payload that it knows.', {
    follow: ({ show }) => ({
      show: (line) => {
        const data = Object.entries(Object(line['data'])).filter(([name]) => DEPLOYED.includes(name));
        return show({ ...line, data: Object.fromEntries(data) });
      },
    }),
  }),
  variant('leaves-its-streams', 'Leaves a stream after 20 events, and asks again from where it was.', {
    follow: { mostEvents: 20 },
  }),
  variant('after-cursor', 'Sends its cursor as after.', {
    follow: ({ request }) => ({ request: (path, cursor) => request(withAfter(path, cursor), undefined) }),
  }),
  variant('both-cursors', 'Sends its cursor both ways.', {
    follow: ({ request }) => ({ request: (path, cursor) => request(withAfter(path, cursor), cursor) }),
  }),
  variant('envelope-id', 'Takes ids from the envelope, and from the frame those beyond 2^53.', {
    follow: { idOf: ({ id }, block) => (Number.isSafeInteger(id) ? Number(id) : block.id) },
  }),
];
