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
  /** Creates a deployment and tells the device. */
  deploy(deviceId: string, files: Record<string, string>): string;
}

/** `port` fixes the HTTP port, to come back on the same one. */
export async function agentHost(
  options: Partial<AgentSideOptions> & { platform?: MemoryPlatform; port?: number } = {},
): Promise<AgentHost> {
  const { platform = new MemoryPlatform(options.clock), port = 0, ...rest } = options;
  const side = await createAgentSide(platform, { dialect: 'spec', ...rest });
  const app: FastifyInstance = Fastify({ ...(options.tls && { https: options.tls }) } as object);
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
      side.link.requestSync(deviceId);
      return id;
    },
    [Symbol.asyncDispose]: async () => {
      await side.stop();
      app.server.closeAllConnections();
      await app.close();
    },
  };
}
