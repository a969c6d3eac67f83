/** Devices (specification sections 2.5, 4.2 and 9). */
import Type, { type Static } from 'typebox';
import { pingRequest, pingResponse } from '../lists.ts';
import { oneOf, Timestamp } from '../shape.ts';
import { atLeast, type SupportedVersion } from '../versions.ts';
import { body, nullable, type Operation, printable, type Resource, without } from './operation.ts';
import { tokenAnswer } from './provisioning-token.ts';

export const DEVICE_STATUSES = ['inactive', 'activating', 'online', 'offline', 'archived'] as const;
export type DeviceStatus = (typeof DEVICE_STATUSES)[number];

/** `archived` came with everglades. */
export const deviceStatuses = (version: SupportedVersion): readonly DeviceStatus[] =>
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
const schema = Type.Object(fields);
export type Device = Static<typeof schema>;

export const deviceResource: Resource = {
  kind: 'device',
  name: 'Device',
  collection: 'devices',
  prefix: 'dvc_',
  fields: (version) =>
    atLeast(version, 'everglades')
      ? fields
      : { ...without(fields, 'description', 'group_id'), status: oneOf(deviceStatuses(version)) },
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
};

/** Published rule: a device name has 1 to 48 characters. */
const name = printable(48, 'The name of the device, unique');
const createBody = body({ name });
export type CreateDevice = Static<typeof createBody>;
const updateBody = body({ name: Type.Optional(name) });
export type UpdateDevice = Static<typeof updateBody>;
/** As in section 2.5, and nothing else. */
const pingBody = body(pingRequest.schema.properties);
const activationBody = body({ allow_reactivation: Type.Optional(Type.Boolean({ default: false })) });

const tag = 'Devices';
export const deviceOperations: Operation[] = [
  {
    id: 'listDevices',
    method: 'GET',
    path: '/devices',
    summary: 'List devices',
    tag,
    scopes: ['devices:read'],
    kind: 'device',
    list: true,
  },
  {
    id: 'createDevice',
    method: 'POST',
    path: '/devices',
    summary: 'Create a device',
    tag,
    scopes: ['devices:write'],
    kind: 'device',
    body: () => createBody,
  },
  {
    id: 'getDevice',
    method: 'GET',
    path: '/devices/{device_id}',
    summary: 'Get a device',
    tag,
    scopes: ['devices:read'],
    kind: 'device',
  },
  {
    id: 'updateDevice',
    method: 'PATCH',
    path: '/devices/{device_id}',
    summary: 'Rename a device',
    tag,
    scopes: ['devices:write'],
    kind: 'device',
    body: () => updateBody,
  },
  {
    id: 'pingDevice',
    method: 'POST',
    path: '/devices/{device_id}/ping',
    summary: 'Check connectivity with a device',
    tag,
    scopes: ['devices:read'],
    body: () => pingBody,
    answer: { name: 'PingDeviceResponse', schema: pingResponse.schema },
  },
  {
    // Replaced by provisioning tokens in rainier.
    id: 'createDeviceActivationToken',
    method: 'POST',
    path: '/devices/{device_id}/activation_token',
    summary: 'Issue a token that activates this device',
    tag,
    until: 'tetons',
    scopes: ['devices:provision'],
    body: () => activationBody,
    bodyOptional: true,
    answer: { name: 'TokenResponse', schema: tokenAnswer },
  },
];
