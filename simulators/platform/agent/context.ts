/** What the agent routes share: who is calling, and what they sent. */
import type { FastifyRequest } from 'fastify';
import type { Shape } from '../../../harness/contract/shape.ts';
import type { AgentDeviceRecord, AgentPort } from '../ports.ts';
import { PlatformError } from '../ports.ts';
import type { DeviceJwtVerifier } from './device-jwt.ts';
import type { SessionTokens } from './session-tokens.ts';

export interface AgentContext {
  port: AgentPort;
  tokens: SessionTokens;
  verifyDeviceJwt: DeviceJwtVerifier;
  minKeyBits: number;
  /** A device's session ended; connections that use it must end too. */
  onSessionEnded(deviceId: string): void;
  /** A device sent a request, so it is alive. */
  onSeen(deviceId: string): void;
}

/** The credential after `Bearer`. Throws PlatformError 401 when there is none. */
export function bearer(request: FastifyRequest): string {
  const match = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '');
  if (!match?.[1]) throw new PlatformError(401, 'unauthorized', 'Authorization: Bearer <token> is required');
  return match[1];
}

/** The device whose session token came with the request. Throws PlatformError 401. */
export function caller(context: AgentContext, request: FastifyRequest): AgentDeviceRecord {
  const device = context.tokens.verify(bearer(request));
  if (!device) throw new PlatformError(401, 'unauthorized', 'the device token is not valid, or it has expired');
  context.onSeen(device.id);
  return device;
}

/** The JSON body, when it has that shape. Throws PlatformError 400 with every problem. */
export function body<T>(
  request: FastifyRequest,
  shape: Pick<Shape, 'name' | 'problems'> & { is(value: unknown): value is T },
): T {
  let value: unknown;
  try {
    value = JSON.parse((request.body as Buffer | undefined)?.toString() ?? '');
  } catch {
    throw new PlatformError(400, 'invalid_request', 'the body must be JSON');
  }
  if (shape.is(value)) return value;
  throw new PlatformError(400, 'invalid_request', `the body is no ${shape.name}`, { problems: shape.problems(value) });
}

/** A path parameter that could be an identifier. Throws PlatformError 404: nothing else names a resource. */
export function identifier(request: FastifyRequest, name: string): string {
  const value = (request.params as Record<string, string>)[name] ?? '';
  if (!/^[\w-]{1,64}$/.test(value)) throw new PlatformError(404, 'not_found', `no resource has this ${name}`);
  return value;
}
