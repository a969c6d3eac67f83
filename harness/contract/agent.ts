/** Protocol v0.4 between published agents and platforms: HTTP and MQTT 3.1.1; not part of the specification. */
import type { Static } from 'typebox';
import { deploymentFields } from './device-api.ts';
import { DEPLOYMENT_ACTIVITY_STATUSES, DEPLOYMENT_ERROR_STATUSES } from './enums.ts';
import { listEnvelope } from './lists.ts';
import { objectShape, oneOf, Timestamp, Type } from './shape.ts';

export const AGENT_BASE_PATH = '/agent/v1';

export const agentTopics = {
  sync: (deviceId: string) => `cmd/devices/${deviceId}/sync`,
  ping: (deviceId: string) => `v1/cmd/devices/${deviceId}/ping`,
  pong: (deviceId: string) => `v1/resp/devices/${deviceId}/pong`,
};

export const syncMessage = objectShape('SyncMessage', { is_synced: Type.Boolean() });
export const pingMessage = objectShape('PingMessage', { message_id: Type.String(), timestamp: Type.String() });

const ownKey = { public_key_pem: Type.String(), agent_version: Type.String() };

export const provisionRequest = objectShape('ProvisionDeviceRequest', {
  ...ownKey,
  name: Type.String({ minLength: 1, maxLength: 48 }),
});
export const reprovisionRequest = objectShape('ReprovisionDeviceRequest', ownKey);
export const agentDevice = objectShape('AgentDevice', {
  object: Type.Literal('device'),
  id: Type.String(),
  name: Type.String(),
  status: Type.String(),
  session_id: Type.String(),
});
export type AgentDevice = Static<typeof agentDevice.schema>;

export const tokenResponse = objectShape('TokenResponse', { token: Type.String(), expires_at: Timestamp });
export type TokenResponse = Static<typeof tokenResponse.schema>;

export const agentConfigInstance = objectShape('AgentConfigInstance', {
  object: Type.Literal('config_instance'),
  id: Type.String(),
  config_type_name: Type.String(),
  filepath: Type.String(),
  created_at: Timestamp,
  config_schema_id: Type.String(),
  config_type_id: Type.String(),
});
export type AgentConfigInstance = Static<typeof agentConfigInstance.schema>;

export const agentGitCommit = objectShape('AgentGitCommit', {
  object: Type.Literal('git_commit'),
  id: Type.String(),
  sha: Type.String(),
  message: Type.String(),
  commit_url: Type.String(),
  created_at: Timestamp,
});
export type AgentGitCommit = Static<typeof agentGitCommit.schema>;

export const agentRelease = objectShape('AgentRelease', {
  object: Type.Literal('release'),
  id: Type.String(),
  version: Type.String(),
  git_commit_id: Type.Union([Type.String(), Type.Null()]),
  created_at: Timestamp,
  git_commit: Type.Optional(Type.Union([agentGitCommit.schema, Type.Null()])),
});
export type AgentRelease = Static<typeof agentRelease.schema>;

export const agentDeployment = objectShape('AgentDeployment', {
  ...deploymentFields,
  updated_at: Timestamp,
  release: Type.Optional(agentRelease.schema),
  config_instances: Type.Optional(Type.Array(agentConfigInstance.schema)),
});
export type AgentDeployment = Static<typeof agentDeployment.schema>;

export const agentDeploymentList = objectShape('AgentDeploymentList', {
  ...listEnvelope.schema.properties,
  data: Type.Array(agentDeployment.schema),
});

/** Body of the agent's request `PATCH /deployments/{id}`. */
export const deploymentReport = objectShape('UpdateDeploymentRequest', {
  activity_status: Type.Optional(oneOf(DEPLOYMENT_ACTIVITY_STATUSES)),
  error_status: Type.Optional(oneOf(DEPLOYMENT_ERROR_STATUSES)),
  deployed_at: Type.Optional(Timestamp),
  archived_at: Type.Optional(Timestamp),
});
export type DeploymentReport = Static<typeof deploymentReport.schema>;
