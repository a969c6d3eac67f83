/** Hooks that inject faults and planned answers into the Platform API. */
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { random } from '../../common/random.ts';
import type { PlannedAnswer, Plans } from '../control/plans.ts';
import type { PlatformFaults } from '../faults.ts';
import { PlatformError } from '../ports.ts';

const PIECES = 16;

export interface FaultSources {
  /** Those of every request; the same `seed` hits the same requests. */
  faults: PlatformFaults | undefined;
  /** Those of some routes, which come before them. */
  plans: Plans | undefined;
  seed: string;
  /** The paths of plans are below it. */
  basePath: string;
}

export function addFaults(app: FastifyInstance, { faults = {}, plans, seed, basePath }: FaultSources): void {
  const dice = random(seed).fork('faults');
  const hits = (rate: number | undefined): boolean => rate !== undefined && dice.chance(rate);
  const slowBodies = new WeakMap<FastifyRequest, number>();
  app.addHook('onRequest', async (request, reply) => {
    const path = (request.raw.url ?? '').slice(basePath.length).split('?', 1)[0] ?? '';
    const planned = plans?.take(request.method, path);
    if (planned !== undefined && 'answer' in planned) return answer(reply, planned.answer);
    const due = planned?.faults ?? faults;
    if (hits(due.slowBody?.rate)) slowBodies.set(request, due.slowBody?.milliseconds ?? 0);
    return inject(due, hits, request, reply);
  });
  app.addHook('onSend', async (request, reply, payload) => {
    const pause = slowBodies.get(request);
    if (pause === undefined || !(typeof payload === 'string' || Buffer.isBuffer(payload))) return payload;
    reply.removeHeader('content-length');
    return Readable.from(inPieces(Buffer.from(payload), pause));
  });
}

/** Throws PlatformError for a fault that is an answer. */
async function inject(
  { latency, throttle, failure, reset }: PlatformFaults,
  hits: (rate: number | undefined) => boolean,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
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
}

function answer(reply: FastifyReply, { status, headers = {}, body }: PlannedAnswer): FastifyReply {
  const isText = typeof body === 'string';
  if (body !== undefined)
    reply.header('content-type', isText ? 'text/plain; charset=utf-8' : 'application/json; charset=utf-8');
  for (const [name, value] of Object.entries(headers)) reply.header(name.toLowerCase(), value);
  return reply.code(status).send(body === undefined || isText ? body : JSON.stringify(body));
}

async function* inPieces(bytes: Buffer, milliseconds: number): AsyncGenerator<Buffer> {
  const size = Math.max(1, Math.ceil(bytes.length / PIECES));
  for (let start = 0; start < bytes.length; start += size) {
    await sleep(milliseconds, undefined, { ref: false });
    yield bytes.subarray(start, start + size);
  }
}
