/** What a device reads besides its deployments: content of config instances, releases, git commits, the service's version. */
import { arch, platform } from 'node:os';
import type { FastifyInstance } from 'fastify';
import { AGENT_API_VERSION } from '../../../harness/contract/versions.ts';
import { PlatformError } from '../ports.ts';
import { type AgentContext, caller, identifier } from './context.ts';
import type { Query } from './query.ts';

const MEDIA_TYPES: Record<string, string> = { json: 'application/json', yaml: 'application/yaml' };
const DISPOSITIONS = ['inline', 'attachment'];

/** Adds the routes to the agent plugin. */
export function resourceRoutes(app: FastifyInstance, context: AgentContext): void {
  const { port } = context;

  app.get('/config_instances/:config_instance_id/content', async (request, reply) => {
    const device = caller(context, request);
    const disposition = String((request.query as Query)['disposition'] ?? 'inline');
    if (!DISPOSITIONS.includes(disposition)) {
      throw new PlatformError(400, 'invalid_request', 'disposition must be inline or attachment');
    }
    const { format, data } = port.content(device.id, identifier(request, 'config_instance_id'));
    return reply
      .header('content-type', MEDIA_TYPES[format] ?? 'application/octet-stream')
      .header('content-disposition', disposition)
      .send(Buffer.from(data.buffer, data.byteOffset, data.byteLength));
  });

  app.get('/releases/:release_id', async (request) => {
    caller(context, request);
    return port.release(identifier(request, 'release_id'));
  });

  app.get('/git_commits/:git_commit_id', async (request) => {
    caller(context, request);
    return port.gitCommit(identifier(request, 'git_commit_id'));
  });

  app.get('/version', async (request) => {
    caller(context, request);
    return {
      version: AGENT_API_VERSION,
      git_commit: 'unknown',
      api_version: AGENT_API_VERSION,
      api_git_commit: 'unknown',
      go_version: 'none',
      build_date: new Date(0).toISOString(),
      os: platform(),
      arch: arch(),
    };
  });
}
