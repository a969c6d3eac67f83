/** Devices (sections 2.5, 4.2 and 9 of the specification). */
import type { Static, TObject } from 'typebox';
import { pingRequest, pingResponse } from '../lists.ts';
import { exact, nullable, oneOf, Timestamp, Type } from '../shape.ts';
import { atLeast, type SupportedVersion } from '../versions.ts';
import { fieldsIn, type Operation, operationsOn, printable, resource } from './operation.ts';

export const DEVICE_STATUSES = ['inactive', 'activating', 'online', 'offline', 'archived'] as const;

const deviceStatuses = (version: SupportedVersion): readonly (typeof DEVICE_STATUSES)[number][] =>
  atLeast(version, 'everglades') ? DEVICE_STATUSES : ['inactive', 'activating', 'online', 'offline'];

const fields = {
  object: Type.Literal('device'),
  id: Type.String({ pattern: '^dvc_' }),
  name: Type.String(),
  description: nullable(Type.String()),
  status: oneOf(DEVICE_STATUSES),
  agent_version: nullable(Type.String(), 'Null until provisioned'),
  last_connected_at: nullable(Timestamp),
  last_disconnected_at: nullable(Timestamp),
  created_at: Timestamp,
  updated_at: Timestamp,
  group_id: nullable(Type.String(), 'The group it belongs to; read-only'),
};
export type Device = Static<TObject<typeof fields>>;

export const deviceResource = resource('device', 'dvc_', {
  fields: (version) => ({
    ...fieldsIn(version, fields, { description: 'everglades', group_id: 'everglades' }),
    status: oneOf(deviceStatuses(version)),
  }),
  expansions: {
    current_deployment: { kind: 'deployment', nullable: true, since: 'rainier' },
    current_release: { kind: 'release', nullable: true, since: 'rainier' },
    group: { kind: 'group', nullable: true, since: 'everglades' },
  },
  filters: {
    id: {},
    name: {},
    agent_version: {},
    current_release_id: { since: 'rainier' },
    group_id: { since: 'everglades' },
    status: { since: 'everglades', values: deviceStatuses },
  },
  orders: { status: { since: 'everglades' } },
});

/** Published platforms allow 48 characters; the specification states no limit. */
const name = printable(48, 'The name of the device, unique');
const createBody = exact({ name });
export type CreateDevice = Static<typeof createBody>;
const updateBody = exact({ name: Type.Optional(name) });
export type UpdateDevice = Static<typeof updateBody>;
const pingBody = exact(pingRequest.schema.properties);
const activationBody = exact({ allow_reactivation: Type.Optional(Type.Boolean({ default: false })) });

/** Answer to a request for a token with which devices provision themselves (section 9 of the specification). */
export const tokenAnswer = Type.Object({ token: Type.String(), expires_at: Timestamp });

const on = operationsOn(deviceResource, 'Devices');
export const deviceOperations: Operation[] = [
  on.list('listDevices', 'List devices'),
  on.create('createDevice', 'Create a device', () => createBody),
  on.get('getDevice', 'Get a device'),
  on.update('updateDevice', 'Rename a device', () => updateBody),
  on.below('pingDevice', 'ping', 'Check connectivity with a device', {
    method: 'POST',
    scopes: ['devices:read'],
    body: () => pingBody,
    answer: { name: 'PingDeviceResponse', schema: pingResponse.schema },
  }),
  // The API version rainier replaced activation tokens by provisioning tokens.
  on.below('createDeviceActivationToken', 'activation_token', 'Issue a token that activates this device', {
    method: 'POST',
    last: 'tetons',
    scopes: ['devices:provision'],
    body: () => activationBody,
    bodyOptional: true,
    answer: { name: 'TokenResponse', schema: tokenAnswer },
  }),
];
