/** An agent side that serves on real sockets, over the smallest platform core. For tests and benches only. */
import Fastify, { type FastifyInstance } from 'fastify';
import { type AgentSide, type AgentSideOptions, createAgentSide } from '../index.ts';
import { MemoryPlatform } from './memory-platform.ts';

export interface AgentHost extends AsyncDisposable {
  platform: MemoryPlatform;
  app: FastifyInstance;
  side: AgentSide;
  /** Host of the agent API. */
  url: string;
  mqttUrl: string;
  /** Creates a deployment and tells the device; returns its id. */
  deploy(deviceId: string, files: Record<string, string>): string;
}

export interface AgentHostOptions extends Partial<AgentSideOptions> {
  platform?: MemoryPlatform;
  /** HTTP port, to come back on the same one. Default: any. */
  port?: number;
}

/** `onRequest` hears of each request: its method, and its path below the agent API. */
export async function agentHost(
  options: AgentHostOptions = {},
  onRequest: (method: string, path: string) => void = () => {},
): Promise<AgentHost> {
  const { platform = new MemoryPlatform(options.clock), port = 0, ...rest } = options;
  const side = await createAgentSide(platform, { dialect: 'spec', ...rest });
  const app: FastifyInstance = Fastify({ ...(options.tls && { https: options.tls }) } as object);
  app.addHook('onRequest', async ({ method, url }) => onRequest(method, url.replace(/^\/agent\/v1|\?.*$/g, '')));
  side.register(app);
  const url = await app.listen({ host: '127.0.0.1', port });
  return {
    platform,
    app,
    side,
    url,
    mqttUrl: side.mqttUrl,
    deploy: (deviceId, files) => {
      const { id } = platform.deploy(deviceId, files);
      side.messenger.requestSync(deviceId);
      return id;
    },
    [Symbol.asyncDispose]: async () => {
      await side.stop();
      app.server.closeAllConnections();
      await app.close();
    },
  };
}
