/** The framing of HTTP against all four servers: no failure, no answer to what is only in a body, and the connection ends. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import fc from 'fast-check';
import { parseResponse, type RawResponse } from '../../../client/raw.ts';
import { bytesOf, cuts, type Damage, damaged, damageWith, pieces } from '../bytes.ts';
import { type Fuzzer, fuzzer, type Subject } from '../fuzzer.ts';
import { type Addresses, Servers } from '../servers.ts';
import { plainRequests } from './http-model.ts';
import { requestText } from './http-texts.ts';

interface HttpInput {
  server: keyof Addresses;
  requests: string[];
  damages: Damage[];
  cuts: number[];
}

/** Stands for the credentials in a request. */
const CREDENTIALS = '@credentials';
const TARGETS: Readonly<Record<keyof Addresses, readonly string[]>> = {
  device: ['/v0.2/health', '/v0.2/device', '/v0.2/deployments/current', '/v0.2/device/sync'],
  deviceControl: ['/', '/compact', '/events', '/deployments'],
  platform: ['/beta/devices', '/beta/releases?limit=1', '/beta/config_types', '/agent/v1/device'],
  platformControl: ['/', '/plans', '/snapshots'],
};
const names = Object.keys(TARGETS) as (keyof Addresses)[];

const inputs: fc.Arbitrary<HttpInput> = fc.constantFrom(...names).chain((server) =>
  fc.record({
    server: fc.constant(server),
    requests: fc.array(requestText(TARGETS[server], [CREDENTIALS]), { minLength: 1, maxLength: 4 }),
    damages: fc.oneof(
      fc.constant<Damage[]>([]),
      fc.array(damageWith(['\r\n', '\n', '\r', '\0', ' ', ':', '0\r\n\r\n']), { maxLength: 2 }),
    ),
    cuts,
  }),
);

/** A server answers what it has got and hangs up long before. */
const LONGEST_MS = 40_000;
const MOST_BYTES = 4 * 1024 * 1024;

class Framing implements Subject<HttpInput> {
  readonly #servers: Servers;
  unharmed = true;

  constructor(servers: Servers) {
    this.#servers = servers;
  }

  async attack({ server, requests, damages, cuts: at }: HttpInput): Promise<string | undefined> {
    const { headers = {} } = this.#servers.addresses[server];
    const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const text = damaged(requests.join(''), damages).replaceAll(CREDENTIALS, own.join('\r\n') || 'X-Nothing: 0');
    const socket = await this.#servers.client(server).connect();
    const received = answersOn(socket);
    for (const part of pieces(bytesOf(text), at)) {
      if (socket.destroyed) break;
      await new Promise<void>((resolve) => socket.write(part, () => resolve()));
    }
    socket.end();
    const bytes = await received;
    socket.destroy();
    const trouble = await this.#servers.trouble();
    this.unharmed = trouble === undefined;
    if (trouble !== undefined) return trouble;
    if (bytes === undefined) return `${server} neither answers nor hangs up`;
    return wrongAnswers(bytes, plainRequests(text), server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#servers[Symbol.asyncDispose]();
  }
}

/** All that comes until the server hangs up; undefined when it does not. */
async function answersOn(socket: Socket): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  socket.on('data', (part: Buffer) => {
    length += part.length;
    if (length <= MOST_BYTES) parts.push(part);
  });
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), LONGEST_MS);
  try {
    if (!socket.closed) await once(socket, 'close', { signal: late.signal });
    return Buffer.concat(parts);
  } catch {
    return late.signal.aborted ? undefined : Buffer.concat(parts);
  } finally {
    clearTimeout(timer);
  }
}

function wrongAnswers(bytes: Buffer, methods: readonly string[], server: string): string | undefined {
  const answers: RawResponse[] = [];
  for (let rest = bytes; rest.length > 0; ) {
    const found = parseResponse(rest, methods[answers.length] ?? 'GET', true);
    // The end of an answer is lost when a server hangs up on bytes that it has not read.
    if (found === undefined) break;
    if (found === 'malformed') return `${server} answers with a wrong framing`;
    rest = rest.subarray(found.length);
    if (found.response.status >= 200) answers.push(found.response);
  }
  const failed = answers.find(({ status }) => status >= 500 && status !== 501 && status !== 505);
  if (failed !== undefined) return `${server} answers '${failed.status}'`;
  if (answers.length > methods.length + 1) return `${server} answers more requests than there are`;
  const beyond = answers[methods.length];
  if (beyond !== undefined && beyond.status < 400) return `${server} serves a request that is not whole`;
  return undefined;
}

const it: Fuzzer<HttpInput> = {
  name: 'http',
  about: 'framing of HTTP requests against all four servers, held to a strict model',
  slow: true,
  inputs,
  open: async () => new Framing(await Servers.start()),
};

export const http = fuzzer(it);
