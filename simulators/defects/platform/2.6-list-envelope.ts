import { answers, defect, resources, variant } from '../define-platform.ts';

/** Converts a UTC time to the same moment with the offset +02:00. */
const withOffset = (text: string): string =>
  new Date(Date.parse(text) + 2 * 3_600_000).toISOString().replace('Z', '000+02:00');

export const defects = [
  defect(
    'releases-without-envelope',
    'Answers the list of releases with its items alone.',
    ['platform.list.envelope'],
    answers('listReleases', (body, status) => (status === 200 ? body['data'] : body)),
  ),
  defect('objects-in-plural', 'Names the collection in object, not the type.', ['platform.list.items'], {
    resource: (_kind, resource) => ({ ...resource, object: `${resource['object']}s` }),
  }),
  defect(
    'items-of-another-type',
    'Names the type of a device by its status.',
    ['platform.list.items'],
    resources('device', (device) => ({ ...device, object: `${device['status']}_device` })),
  ),
  defect('envelope-items', 'Gives the items of every list as items, not as data.', ['platform.list.envelope.any'], {
    envelope: ({ data, ...envelope }) => ({ ...envelope, items: data }),
  }),
  defect('envelope-object', 'Names its lists `page`.', ['platform.list.envelope'], {
    envelope: (envelope) => ({ ...envelope, object: 'page' }),
  }),
  defect('envelope-limit-text', 'Echoes limit as text.', ['platform.list.envelope'], {
    envelope: (envelope) => ({ ...envelope, limit: String(envelope['limit']) }),
  }),
  defect('items-without-object', 'Lists items without their object field.', ['platform.list.envelope'], {
    resource: (_kind, { object: _object, ...resource }) => resource,
  }),
  defect('timestamps-in-seconds', 'Gives moments as seconds since the epoch.', ['platform.timestamps'], {
    resource: (kind, resource) =>
      kind === 'deployment'
        ? resource
        : { ...resource, created_at: Math.floor(Date.parse(String(resource['created_at'])) / 1000) },
  }),
  defect('timestamps-without-t', 'Separates date and time by a space.', ['platform.timestamps'], {
    resource: (_kind, resource) => ({ ...resource, created_at: String(resource['created_at']).replace('T', ' ') }),
  }),
  defect('timestamps-without-zone', 'Gives moments without a zone.', ['platform.timestamps'], {
    resource: (_kind, resource) => ({ ...resource, created_at: String(resource['created_at']).replace(/Z$/, '') }),
  }),
];

export const variants = [
  variant('fields-beyond-the-published', 'Adds unpublished fields to lists and resources.', {
    envelope: (envelope) => ({ ...envelope, next_offset: Number(envelope['offset']) + Number(envelope['limit']) }),
    resource: (_kind, resource) => ({ ...resource, labels: { region: 'eu' }, revision: 3 }),
  }),
  variant('timestamps-with-offset', 'Gives moments with an offset and microseconds.', {
    resource: (_kind, resource) =>
      Object.fromEntries(
        Object.entries(resource).map(([name, value]) => [
          name,
          name.endsWith('_at') && typeof value === 'string' ? withOffset(value) : value,
        ]),
      ),
  }),
  variant('nulls-omitted', 'Omits fields that are null.', {
    resource: (_kind, resource) => Object.fromEntries(Object.entries(resource).filter(([, value]) => value !== null)),
  }),
];
