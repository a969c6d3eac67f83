/**
 * The published agent protocol (v0.4) as its strictest reader takes it: every required field, and none that is not
 * published. What Muster sends keeps to this; what it receives is compared with the wider shapes of `agent.ts`.
 */
import Type, { type Static, type TObject, type TProperties } from 'typebox';
import { agentConfigInstance, agentDeployment, agentDevice, agentGitCommit, agentRelease } from './agent.ts';
import { GIT_REPOSITORY_TYPES } from './platform/git-commit.ts';
import { exact, nullable, oneOf } from './shape.ts';

/** RFC 3339 with an offset, as `format: date-time` of OpenAPI means it. */
export const Instant = Type.String({
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?(Z|[+-]\\d{2}:\\d{2})$',
  format: 'date-time',
});
/** The same members, and no others. */
export const closed = <P extends TProperties>({ schema }: { schema: TObject<P> }) => exact(schema.properties);

/** Statuses of a device as its own agent may see them. */
const AGENT_DEVICE_STATUSES = ['inactive', 'activating', 'online', 'offline'] as const;

export const device = exact({
  ...agentDevice.schema.properties,
  status: oneOf(AGENT_DEVICE_STATUSES),
  session_id: Type.String({ minLength: 1 }),
  agent_version: nullable(Type.String()),
  last_connected_at: nullable(Instant),
  last_disconnected_at: nullable(Instant),
  created_at: Instant,
  updated_at: Instant,
});

export const gitCommit = exact({
  ...agentGitCommit.schema.properties,
  repository_owner: Type.String(),
  repository_name: Type.String(),
  repository_type: oneOf(GIT_REPOSITORY_TYPES),
  repository_url: Type.String(),
  created_at: Instant,
});
export type StrictGitCommit = Static<typeof gitCommit>;

export const release = exact({
  ...agentRelease.schema.properties,
  created_at: Instant,
  updated_at: Instant,
  git_commit: Type.Optional(nullable(gitCommit)),
});
export type StrictRelease = Static<typeof release>;

const configInstance = exact({ ...agentConfigInstance.schema.properties, created_at: Instant });

export const deployment = exact({
  ...agentDeployment.schema.properties,
  created_at: Instant,
  updated_at: Instant,
  release: Type.Optional(release),
  config_instances: Type.Optional(Type.Array(configInstance)),
});
export type StrictDeployment = Static<typeof deployment>;
