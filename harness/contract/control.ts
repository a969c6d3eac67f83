/** Control API by which Muster drives a target: JSON over HTTP, on a TCP port or a unix socket. */
import type { Static } from 'typebox';
import { DEPLOYMENT_ACTIVITY_STATUSES, DEPLOYMENT_ERROR_STATUSES, DEPLOYMENT_TARGET_STATUSES } from './enums.ts';
import { objectShape, oneOf, Type } from './shape.ts';

export const CONTROL_CAPABILITIES = ['drive', 'compact', 'restart', 'log', 'files'] as const;
export type ControlCapability = (typeof CONTROL_CAPABILITIES)[number];

export const controlInfo = objectShape('ControlInfo', {
  capabilities: Type.Array(Type.String()),
  retention: Type.Optional(Type.Integer({ minimum: 1, description: 'Events the log keeps at most' })),
  heartbeat_seconds: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 86_400 })),
  event_log: Type.Optional(Type.String({ description: 'Path of the JSONL event log' })),
  config_root: Type.Optional(Type.String({ description: 'Directory below which config files are written' })),
  compact_restarts: Type.Optional(
    Type.Boolean({ description: 'The agent is restarted to make it compact, so that its event streams end' }),
  ),
});
export type ControlInfo = Static<typeof controlInfo.schema>;

export const controlDeployment = objectShape('ControlDeployment', {
  description: Type.Optional(Type.String()),
  release_id: Type.Optional(Type.String()),
  target_status: Type.Optional(oneOf(DEPLOYMENT_TARGET_STATUSES)),
  activity_status: Type.Optional(oneOf(DEPLOYMENT_ACTIVITY_STATUSES)),
  error_status: Type.Optional(oneOf(DEPLOYMENT_ERROR_STATUSES)),
  config_instances: Type.Optional(Type.Array(Type.Object({ filepath: Type.String(), content: Type.String() }))),
});
export type ControlDeployment = Static<typeof controlDeployment.schema>;

export const controlPublish = objectShape('ControlPublish', {
  count: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
});
/** Answer of `POST /events`; both ids are inclusive. */
export const controlPublished = objectShape('ControlPublished', { first_id: Type.Integer(), last_id: Type.Integer() });
export type ControlPublished = Static<typeof controlPublished.schema>;

export const controlCompacted = objectShape('ControlCompacted', {
  earliest_id: Type.Integer(),
  latest_id: Type.Integer(),
});
export type ControlCompacted = Static<typeof controlCompacted.schema>;

/** Answer of `GET /log`, which only Muster's own simulator has. */
export interface ControlLog {
  bytes: number;
  events: number;
  earliest_id: number;
  latest_id: number;
  /** Lines of the log that hold no event; subscribers never receive them. */
  skipped_lines: number;
  skipped_bytes: number;
  skipped: { offset: number; bytes: number }[];
  /** Ids that the log skipped after a crash, because clients may have seen them. */
  unused_ids: { after: number; through: number }[];
  repairs: string[];
}

export const STOP_SIGNALS = ['SIGTERM', 'SIGKILL'] as const;
export type StopSignal = (typeof STOP_SIGNALS)[number];
/** Body of `POST /stop`, which answers 204 once the agent is down. */
export const controlStop = objectShape('ControlStop', { signal: Type.Optional(oneOf(STOP_SIGNALS)) });
