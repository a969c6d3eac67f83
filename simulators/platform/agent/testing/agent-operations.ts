/** Published agent protocol (v0.4) in strict shapes: all required fields, no unknown field. */
import type { TObject, TProperties } from 'typebox';
import {
  AGENT_BASE_PATH,
  agentConfigInstance,
  agentDeployment,
  agentDevice,
  agentGitCommit,
  agentRelease,
  deploymentReport,
  pingMessage,
  provisionRequest,
  reprovisionRequest,
  syncMessage,
} from '../../../../harness/contract/agent.ts';
import { errorBody, LIST_LIMITS } from '../../../../harness/contract/lists.ts';
import { GIT_REPOSITORY_TYPES } from '../../../../harness/contract/platform/git-commit.ts';
import { exact, nullable, oneOf, type Shape, shape, Type } from '../../../../harness/contract/shape.ts';

const Instant = Type.String({
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?(Z|[+-]\\d{2}:\\d{2})$',
  format: 'date-time',
});
const closed = <P extends TProperties>({ schema }: { schema: TObject<P> }) => exact(schema.properties);

/** Without `archived`, because the agent API refuses archived devices. */
const AGENT_DEVICE_STATUSES = ['inactive', 'activating', 'online', 'offline'] as const;

const device = exact({
  ...agentDevice.schema.properties,
  status: oneOf(AGENT_DEVICE_STATUSES),
  session_id: Type.String({ minLength: 1 }),
  agent_version: nullable(Type.String()),
  last_connected_at: nullable(Instant),
  last_disconnected_at: nullable(Instant),
  created_at: Instant,
  updated_at: Instant,
});

const gitCommit = exact({
  ...agentGitCommit.schema.properties,
  repository_owner: Type.String(),
  repository_name: Type.String(),
  repository_type: oneOf(GIT_REPOSITORY_TYPES),
  repository_url: Type.String(),
  created_at: Instant,
});

const release = exact({
  ...agentRelease.schema.properties,
  created_at: Instant,
  updated_at: Instant,
  git_commit: Type.Optional(nullable(gitCommit)),
});

const configInstance = exact({ ...agentConfigInstance.schema.properties, created_at: Instant });

const deployment = exact({
  ...agentDeployment.schema.properties,
  created_at: Instant,
  updated_at: Instant,
  release: Type.Optional(release),
  config_instances: Type.Optional(Type.Array(configInstance)),
});

const deploymentList = exact({
  object: Type.Literal('list'),
  limit: Type.Integer({ minimum: LIST_LIMITS.limitMinimum, maximum: LIST_LIMITS.limitMaximum }),
  offset: Type.Integer({ minimum: LIST_LIMITS.offsetMinimum }),
  has_more: Type.Boolean(),
  total_count: Type.Optional(Type.Integer({ minimum: 0 })),
  data: Type.Array(deployment),
});

const version = exact({
  version: Type.String(),
  git_commit: Type.String(),
  api_version: Type.String(),
  api_git_commit: Type.String(),
  go_version: Type.String(),
  build_date: Instant,
  os: Type.String(),
  arch: Type.String(),
});

interface AgentOperation {
  id: string;
  method: 'GET' | 'POST' | 'PATCH';
  path: string;
  request?: Shape;
  answer?: Shape;
}

const deviceAnswer = shape('Device', device);
const deploymentAnswer = shape('Deployment', deployment);
const tokenAnswer = shape('TokenResponse', exact({ token: Type.String({ minLength: 1 }), expires_at: Instant }));
const provision = shape('ProvisionDeviceRequest', closed(provisionRequest));
const reprovision = shape('ReprovisionDeviceRequest', closed(reprovisionRequest));
const deviceUpdate = shape('UpdateDeviceFromAgentRequest', exact({ agent_version: Type.Optional(Type.String()) }));
const moments = { deployed_at: Type.Optional(Instant), archived_at: Type.Optional(Instant) };
const report = shape('UpdateDeploymentRequest', exact({ ...deploymentReport.schema.properties, ...moments }));

const get = (id: string, path: string, answer?: Shape): AgentOperation =>
  answer === undefined ? { id, method: 'GET', path } : { id, method: 'GET', path, answer };

export const AGENT_OPERATIONS: readonly AgentOperation[] = [
  get('getVersion', '/version', shape('Version', version)),
  { id: 'provisionDevice', method: 'POST', path: '/devices/provision', request: provision, answer: deviceAnswer },
  { id: 'reprovisionDevice', method: 'POST', path: '/devices/reprovision', request: reprovision, answer: deviceAnswer },
  { id: 'issueDeviceToken', method: 'POST', path: '/devices/token', answer: tokenAnswer },
  get('getDeviceSelf', '/device', deviceAnswer),
  { id: 'updateDeviceByAgent', method: 'PATCH', path: '/devices/{id}', request: deviceUpdate, answer: deviceAnswer },
  get('listDeployments', '/deployments', shape('DeploymentList', deploymentList)),
  get('getDeployment', '/deployments/{id}', deploymentAnswer),
  { id: 'updateDeployment', method: 'PATCH', path: '/deployments/{id}', request: report, answer: deploymentAnswer },
  get('getConfigInstanceContent', '/config_instances/{id}/content'),
  get('getRelease', '/releases/{id}', shape('Release', release)),
  get('getGitCommit', '/git_commits/{id}', shape('GitCommit', gitCommit)),
];

export const agentOperation = (method: string, path: string): AgentOperation | undefined =>
  AGENT_OPERATIONS.find(
    (each) =>
      each.method === method && new RegExp(`^${AGENT_BASE_PATH}${each.path.replace('{id}', '[^/]+')}$`).test(path),
  );

export const strictError = shape('Error', exact({ error: exact(errorBody.schema.properties.error.properties) }));

export const AGENT_MESSAGES: Record<string, Shape> = {
  sync: shape('SyncDevice', closed(syncMessage)),
  ping: shape('Ping', exact({ ...pingMessage.schema.properties, timestamp: Instant })),
  pong: shape('Pong', exact({ ...pingMessage.schema.properties, timestamp: Instant })),
};
