/** The event envelope and the payloads of the Device API (specification sections 2.3, 2.4, 6.3). */
import Type, { type Static } from 'typebox';
import { statusFields } from './deployment.ts';
import { shape, Timestamp } from './shape.ts';

/** `{resource}.{action}` (section 6.1). */
export const EVENT_TYPE_FORM = '^[^.\\s]+\\.[^.\\s]+$';

/** The JSON of a frame's `data` (section 2.3). */
export const eventEnvelope = shape(
  'Event',
  Type.Object({
    object: Type.Literal('event'),
    id: Type.Integer({ description: 'Equals the SSE id; monotonically increasing' }),
    type: Type.String({ pattern: EVENT_TYPE_FORM, description: 'Equals the SSE event field' }),
    occurred_at: Timestamp,
    data: Type.Object({}, { description: 'Payload; its shape depends on type' }),
  }),
);
export type EventEnvelope = Static<typeof eventEnvelope.schema>;

const payloadFields = { deployment_id: Type.String(), release_id: Type.String(), ...statusFields };

/** Payload of `deployment.deployed` (section 2.4). */
export const deployedPayload = shape('DeploymentDeployed', Type.Object({ ...payloadFields, deployed_at: Timestamp }));
export type DeployedPayload = Static<typeof deployedPayload.schema>;

/** Payload of `deployment.removed`: not shown by the specification; this is what published agents send. */
export const removedPayload = shape('DeploymentRemoved', Type.Object({ ...payloadFields, archived_at: Timestamp }));
export type RemovedPayload = Static<typeof removedPayload.schema>;
