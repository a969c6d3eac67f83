/** Hooks that inject the faults into the Platform API. */
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { random } from '../../common/random.ts';
import type { PlatformFaults } from '../faults.ts';
import { PlatformError } from '../ports.ts';

const PIECES = 16;

/** The same `seed` hits the same requests. */
export function addFaults(app: FastifyInstance, faults: PlatformFaults, seed: string): void {
  const dice = random(seed).fork('faults');
  const hits = (rate: number | undefined): boolean => rate !== undefined && dice.chance(rate);
  app.addHook('onRequest', async (request, reply) => {
    const { latency, throttle, failure, reset } = faults;
    if (latency && hits(latency.rate)) await sleep(latency.milliseconds, undefined, { ref: false });
    if (hits(reset?.rate)) {
      request.raw.socket.resetAndDestroy();
      return reply.hijack();
    }
    if (throttle && hits(throttle.rate)) {
      reply.header('retry-after', String(throttle.retryAfterSeconds));
      throw new PlatformError(429, 'too_many_requests', 'a planted fault: too many requests');
    }
    if (failure && hits(failure.rate)) {
      throw new PlatformError(failure.status, 'unavailable', 'a planted fault: the platform is not available');
    }
    return undefined;
  });
  const { slowBody } = faults;
  if (slowBody === undefined) return;
  app.addHook('onSend', async (_request, reply, payload) => {
    if (!(typeof payload === 'string' || Buffer.isBuffer(payload)) || !hits(slowBody.rate)) return payload;
    reply.removeHeader('content-length');
    return Readable.from(inPieces(Buffer.from(payload), slowBody.milliseconds));
  });
}

async function* inPieces(bytes: Buffer, milliseconds: number): AsyncGenerator<Buffer> {
  const size = Math.max(1, Math.ceil(bytes.length / PIECES));
  for (let start = 0; start < bytes.length; start += size) {
    await sleep(milliseconds, undefined, { ref: false });
    yield bytes.subarray(start, start + size);
  }
}
