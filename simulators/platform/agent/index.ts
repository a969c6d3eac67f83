/** Agent side of the platform: HTTP under `/agent/v1`, and MQTT 3.1.1 through an embedded or an external broker. */

import { arch, platform } from 'node:os';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { jsonOf } from '../../../harness/common/lenient.ts';
import {
  AGENT_BASE_PATH,
  agentDevice,
  deploymentReport,
  provisionRequest,
  reprovisionRequest,
} from '../../../harness/contract/agent.ts';
import { DEPLOYMENT_ACTIVITY_STATUSES, isDeploymentActivityStatus } from '../../../harness/contract/enums.ts';
import { DISPOSITIONS } from '../../../harness/contract/platform/config-instance.ts';
import { shape, Type } from '../../../harness/contract/shape.ts';
import { AGENT_API_VERSION, type Dialect, NAMES_BY_DIALECT } from '../../../harness/contract/versions.ts';
import { type Clock, systemClock } from '../../common/clock.ts';
import type { ShapeOf } from '../../common/platform-http.ts';
import { LOOPBACK } from '../address.ts';
import { embeddedBroker } from '../broker/embedded.ts';
import { type ExternalBrokerOptions, externalBroker } from '../broker/external.ts';
import { type Broker, mqttMessenger } from '../broker/messenger.ts';
import { type Query, valuesOf } from '../http/call.ts';
import { type AgentDeviceRecord, type AgentPort, PlatformError } from '../ports.ts';
import { referenceBehaviour } from '../reference.ts';
import { deviceJwtVerifier, parseDeviceKey, sessionTokens } from './credentials.ts';

interface AgentContext {
  port: AgentPort;
  tokens: ReturnType<typeof sessionTokens>;
  verifyDeviceJwt: ReturnType<typeof deviceJwtVerifier>;
  minKeyBits: number;
  broker: Broker;
  versionHeader: string;
}

function bearer(request: FastifyRequest): string {
  const match = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '');
  if (!match?.[1]) throw new PlatformError(401, 'unauthorized', 'Authorization: Bearer <token> is required');
  return match[1];
}

function body<T>(request: FastifyRequest, shape: ShapeOf<T>): T {
  const value = jsonOf((request.body as Buffer | undefined) ?? '');
  if (value === undefined) throw new PlatformError(400, 'invalid_request', 'the body must be JSON');
  if (shape.is(value)) return value;
  throw new PlatformError(400, 'invalid_request', `the body is no ${shape.name}`, { problems: shape.problems(value) });
}

function identifier(request: FastifyRequest, name: string): string {
  const value = (request.params as Record<string, string>)[name] ?? '';
  if (!/^[\w-]{1,64}$/.test(value)) throw new PlatformError(404, 'not_found', `no resource has this ${name}`);
  return value;
}

function expansions(query: Query, more: readonly string[] = []): string[] {
  const accepted = ['release', 'release.git_commit', 'config_instances', ...more];
  const wanted = new Set([...valuesOf(query, 'expand'), ...valuesOf(query, 'expand[]')]);
  for (const name of wanted) {
    if (accepted.includes(name)) continue;
    throw new PlatformError(400, 'invalid_request', 'expand names something that cannot be expanded', {
      expand: name.slice(0, 64),
      accepted,
    });
  }
  return [...wanted];
}

const deviceUpdate = shape('UpdateDeviceRequest', Type.Object({ agent_version: Type.Optional(Type.String()) }));

/** Fields in answers to an agent; without the public key, which the agent has. */
const DEVICE_FIELDS = [
  ...Object.keys(agentDevice.schema.properties),
  ...['agent_version', 'last_connected_at', 'last_disconnected_at', 'created_at', 'updated_at'],
];

function answer(record: AgentDeviceRecord) {
  const known: Readonly<Record<string, unknown>> = { ...record, object: 'device' };
  return Object.fromEntries(DEVICE_FIELDS.map((name) => [name, known[name]]));
}

function enrolmentRoutes(app: FastifyInstance, context: AgentContext): void {
  const { port, minKeyBits } = context;

  app.post('/devices/provision', async (request) => {
    const token = bearer(request);
    const { name, agent_version, public_key_pem } = body(request, provisionRequest);
    return answer(port.provision(token, { name, agent_version, ...parseDeviceKey(public_key_pem, minKeyBits) }));
  });

  app.post('/devices/reprovision', async (request) => {
    const token = bearer(request);
    const { agent_version, public_key_pem } = body(request, reprovisionRequest);
    const device = port.reprovision(token, { agent_version, ...parseDeviceKey(public_key_pem, minKeyBits) });
    context.broker.disconnect(device.id);
    return answer(device);
  });

  app.post('/devices/token', async (request) => {
    const device = context.verifyDeviceJwt(bearer(request));
    context.broker.heard(device.id);
    return context.tokens.issue(device);
  });
}

interface Asked {
  port: AgentPort;
  device: AgentDeviceRecord;
  request: FastifyRequest;
  reply: FastifyReply;
  query: Query;
}

const MEDIA_TYPES: Record<string, string> = { json: 'application/json', yaml: 'application/yaml' };

const OWN_ROUTES: Readonly<Record<string, (asked: Asked) => unknown>> = {
  'GET /device': ({ device }) => answer(device),
  'PATCH /devices/:device_id': ({ port, device, request }) => {
    if (identifier(request, 'device_id') !== device.id)
      throw new PlatformError(403, 'forbidden', 'a device may update itself only');
    return answer(port.updateDevice(device.id, body(request, deviceUpdate)));
  },
  'GET /deployments': ({ port, device, query }) => {
    const limit = referenceBehaviour.clampLimit(valuesOf(query, 'limit'));
    const offset = referenceBehaviour.clampOffset(valuesOf(query, 'offset'));
    const expand = expansions(query, ['total_count']);
    const statuses = valuesOf(query, 'activity_status').flatMap((text) => text.split(/[|,]/));
    const activity = statuses.filter((text) => text !== '');
    const unknown = activity.find((text) => !isDeploymentActivityStatus(text));
    if (unknown !== undefined) {
      throw new PlatformError(400, 'invalid_request', 'activity_status holds an unknown status', {
        activity_status: unknown.slice(0, 64),
        accepted: DEPLOYMENT_ACTIVITY_STATUSES,
      });
    }
    const { items, total } = port.deployments(device.id, { activity, limit, offset, expand });
    return {
      object: 'list',
      limit,
      offset,
      has_more: offset + items.length < total && items.length > 0,
      ...(expand.includes('total_count') && { total_count: total }),
      data: items,
    };
  },
  'GET /deployments/:deployment_id': ({ port, device, request, query }) =>
    port.deployment(device.id, identifier(request, 'deployment_id'), expansions(query)),
  'PATCH /deployments/:deployment_id': ({ port, device, request, query }) => {
    const id = identifier(request, 'deployment_id');
    const expand = expansions(query);
    const updated = port.report(device.id, id, body(request, deploymentReport));
    return expand.length === 0 ? updated : port.deployment(device.id, id, expand);
  },
  'GET /config_instances/:config_instance_id/content': ({ port, device, request, reply, query }) => {
    const disposition = String(query['disposition'] ?? 'inline');
    if (!(DISPOSITIONS as readonly string[]).includes(disposition))
      throw new PlatformError(400, 'invalid_request', 'disposition must be inline or attachment');
    const { format, data } = port.content(device.id, identifier(request, 'config_instance_id'));
    return reply
      .header('content-type', MEDIA_TYPES[format] ?? 'application/octet-stream')
      .header('content-disposition', disposition)
      .send(Buffer.from(data.buffer, data.byteOffset, data.byteLength));
  },
  'GET /releases/:release_id': ({ port, request }) => port.release(identifier(request, 'release_id')),
  'GET /git_commits/:git_commit_id': ({ port, request }) => port.gitCommit(identifier(request, 'git_commit_id')),
  'GET /version': () => ({
    version: AGENT_API_VERSION,
    git_commit: 'unknown',
    api_version: AGENT_API_VERSION,
    api_git_commit: 'unknown',
    go_version: 'none',
    build_date: new Date(0).toISOString(),
    os: platform(),
    arch: arch(),
  }),
};

/** Call in a fastify plugin, so that the error handler does not affect the Platform API. */
function registerAgentApi(app: FastifyInstance, context: AgentContext): void {
  const { port, versionHeader } = context;
  app.removeAllContentTypeParsers();
  // Routes parse their bodies, because a token request has a JSON content type but no body.
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: 65_536 }, (_request, raw, done) => done(null, raw));
  app.setErrorHandler(sendError);
  app.setNotFoundHandler((request, reply) => {
    const problem = `the agent API has no ${request.method} on this path`;
    sendError(new PlatformError(404, 'not_found', problem), request, reply);
  });
  app.addHook('onRequest', async (request) => {
    const version = request.headers[versionHeader.toLowerCase()];
    if (version === AGENT_API_VERSION) return;
    throw new PlatformError(400, 'unsupported_version', `${versionHeader}: ${AGENT_API_VERSION} is required`, {
      accepted: [AGENT_API_VERSION],
    });
  });
  enrolmentRoutes(app, context);
  for (const [route, serve] of Object.entries(OWN_ROUTES)) {
    const [method, url] = route.split(' ') as ['GET' | 'PATCH', string];
    app.route({
      method,
      url,
      handler: async (request, reply) => {
        const device = context.tokens.verify(bearer(request));
        if (!device) throw new PlatformError(401, 'unauthorized', 'the device token is not valid, or it has expired');
        context.broker.heard(device.id);
        return serve({ port, device, request, reply, query: request.query as Query });
      },
    });
  }
}

function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const { statusCode = 500, code: name = 'invalid_request', message: problem } = error as Partial<FastifyError>;
  let refusal = new PlatformError(500, 'internal_error', 'the request could not be handled');
  if (error instanceof PlatformError) refusal = error;
  else if (statusCode < 500) refusal = new PlatformError(statusCode, name.toLowerCase(), problem ?? '');
  const { status, code, params, message } = refusal;
  if (status >= 500) request.log.error(error, 'agent request failed');
  void reply.status(status).send({ error: { code, params, message } });
}

export interface AgentSideOptions {
  mqtt?: { host?: string; port?: number } | ExternalBrokerOptions;
  tls?: { cert: string | Buffer; key: string | Buffer } | undefined;
  dialect: Dialect;
  minKeyBits?: number | undefined;
  tokenLifetimeMs?: number;
  clock?: Clock;
  log?: Logger | undefined;
}

export async function createAgentSide(port: AgentPort, options: AgentSideOptions) {
  const clock = options.clock ?? systemClock;
  const { tokenIssuer: issuer, versionHeader } = NAMES_BY_DIALECT[options.dialect];
  const deviceById = (id: string) => port.deviceById(id);
  const tokens = sessionTokens({ deviceById, issuer, clock, lifetimeMs: options.tokenLifetimeMs });

  const messenger = mqttMessenger(clock);
  const events = {
    onPong: messenger.onPong,
    onConnected: (deviceId: string, connected: boolean) => port.setConnected(deviceId, connected),
  };
  const { mqtt = {}, tls, log } = options;
  const broker =
    'url' in mqtt
      ? await externalBroker(mqtt, {
          ...events,
          isDevice: (id) => deviceById(id) !== undefined,
          probe: messenger.probe,
        })
      : await embeddedBroker({
          ...events,
          host: mqtt.host ?? LOOPBACK,
          port: mqtt.port ?? 0,
          tls,
          onError: (error) => log?.error(error, 'the MQTT broker failed'),
          authenticate: (deviceId, sessionId, token) => {
            const device = tokens.verify(token);
            return device?.id === deviceId && device.session_id === sessionId;
          },
        });
  messenger.use(broker);

  const deviceByFingerprint = (fingerprint: string) => port.deviceByFingerprint(fingerprint);
  const verifyDeviceJwt = deviceJwtVerifier({ deviceByFingerprint, clock });
  const context = { port, tokens, verifyDeviceJwt, minKeyBits: options.minKeyBits ?? 2048, broker, versionHeader };
  let stopping: Promise<void> | undefined;
  return {
    messenger,
    mqttUrl: broker.url,
    register: (app: FastifyInstance): void =>
      void app.register(async (scope) => registerAgentApi(scope, context), { prefix: AGENT_BASE_PATH }),
    /** Disconnects all devices; pings in flight end with a timeout. Idempotent. */
    stop: (): Promise<void> => {
      messenger.stop();
      stopping ??= broker.stop();
      return stopping;
    },
  };
}
