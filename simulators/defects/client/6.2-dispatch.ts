/** Defects of clients that dispatch events by a wrong member, or fail on an unknown type. */
import { DEPLOYMENT_STATUSES } from '../../../harness/contract/enums.ts';
import { defect, variant } from '../define-client.ts';

const UNKNOWN_MEMBERS = ['client.dispatch.unknown-members'];

const KNOWN = ['deployment.deployed', 'deployment.removed'];
const DEPLOYED = [
  'deployment_id',
  'release_id',
  'status',
  'activity_status',
  'error_status',
  'target_status',
  'deployed_at',
];

export const defects = [
  defect('by-event-field', 'Dispatches by the event field.', ['client.dispatch.envelope-type'], {
    follow: { typeOf: (_, { event }) => event || 'message' },
  }),
  defect('event-field-required', 'Leaves out an event without an event field.', ['client.dispatch.envelope-type'], {
    follow: ({ typeOf }) => ({
      typeOf: (envelope, block) => (block.event === '' ? undefined : typeOf(envelope, block)),
    }),
  }),
  defect('deployed-only', 'Knows no type but deployment.deployed.', ['client.dispatch.removed'], {
    follow: ({ typeOf }) => ({
      typeOf: (envelope, block) => (envelope.type === KNOWN[0] ? typeOf(envelope, block) : undefined),
    }),
  }),
  defect('removed-needs-payload', 'Wants a release in every payload.', ['client.dispatch.removed'], {
    follow: ({ envelope }) => ({
      envelope: (block) => {
        const found = envelope(block);
        return found !== undefined && 'release_id' in Object(found.data) ? found : undefined;
      },
    }),
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
    follow: ({ envelope }) => ({
      envelope: (block) => {
        const found = envelope(block);
        const strange = Object.keys(found ?? {}).filter(
          (name) => !['object', 'id', 'type', 'occurred_at', 'data'].includes(name),
        );
        return strange.length === 0 ? found : undefined;
      },
    }),
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
      follow: ({ envelope }) => ({
        envelope: (block) => {
          const found = envelope(block);
          const { status } = Object(found?.data) as { status?: unknown };
          const known: readonly unknown[] = [undefined, ...DEPLOYMENT_STATUSES];
          return known.includes(status) ? found : undefined;
        },
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
];

export const variants = [
  variant('known-types-only', 'Leaves out types that it does not know.', {
    follow: ({ typeOf }) => ({
      typeOf: (envelope, block) => (KNOWN.includes(String(envelope.type)) ? typeOf(envelope, block) : undefined),
    }),
  }),
  variant('known-members-only', 'Hands on the members of a payload that it knows.', {
    follow: ({ show }) => ({
      show: (line) =>
        show({
          ...line,
          data: Object.fromEntries(Object.entries(Object(line['data'])).filter(([name]) => DEPLOYED.includes(name))),
        }),
    }),
  }),
];
