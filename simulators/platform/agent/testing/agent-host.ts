/** Agent API on real sockets over an in-memory platform, for tests and benches. */

import { generateKeyPairSync, hash, randomUUID, sign } from 'node:crypto';
import Fastify, { type FastifyInstance } from 'fastify';
import { type AgentSideOptions, createAgentSide } from '../index.ts';
import { MemoryPlatform } from './memory-platform.ts';

export type AgentHost = Awaited<ReturnType<typeof agentHost>>;

export async function agentHost(
  options: Partial<AgentSideOptions> & { platform?: MemoryPlatform; port?: number } = {},
  onRequest: (method: string, path: string) => void = () => {},
) {
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
    deploy: (deviceId: string, files: Record<string, string>): string => {
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

export type RobotKey = ReturnType<typeof madeKey>;

function madeKey(bits: number) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: bits });
  const fingerprint = hash('sha256', publicKey.export({ type: 'spki', format: 'der' }));
  return { privateKey, publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(), fingerprint };
}

const made = new Map<string, RobotKey>();

/** Caches keys by name and size, because generating an RSA key is slow. */
export function robotKey(name = 'robot', bits = 2048): RobotKey {
  const id = `${name}/${bits}`;
  const key = made.get(id) ?? madeKey(bits);
  made.set(id, key);
  return key;
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

export function deviceJwt(
  key: RobotKey,
  now: number,
  change: { header?: object; claims?: object; signWith?: (input: Buffer) => Buffer } = {},
): string {
  const iat = Math.floor(now / 1000);
  const header = encode({ alg: 'RS512', typ: 'JWT', kid: key.fingerprint, ...change.header });
  const claims = encode({ jti: randomUUID(), iat, exp: iat + 120, ...change.claims });
  const input = Buffer.from(`${header}.${claims}`);
  const signature = change.signWith?.(input) ?? sign('sha512', input, key.privateKey);
  return `${input}.${signature.toString('base64url')}`;
}
