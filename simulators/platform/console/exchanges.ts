/** Newest requests for the platform's page, with shortened bodies and masked secrets. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { FastifyInstance } from 'fastify';
import { TrafficRedactor } from '../../../harness/common/traffic-redactor.ts';
import { AGENT_BASE_PATH } from '../../../harness/contract/agent.ts';
import type { Exchange, RequestLine, ShownBody } from '../../console/page/platform/document.ts';
import type { KeyRing } from '../keys.ts';

export const KEPT_REQUESTS = 500;
const SHOWN_BODY = 16_384;
/** Bytes or characters kept of a body; more than SHOWN_BODY, to mask a secret across that limit. */
const KEPT_BODY = SHOWN_BODY + 4_096;
const SHOWN_TEXT = 500;

interface Part {
  text: string | Buffer;
  bytes: number;
}

interface Kept {
  number: number;
  at: number;
  ms: number;
  method: string;
  url: string;
  rawHeaders: readonly string[];
  route?: string | undefined;
  status: number | null;
  responseHeaders: object;
  requestBody?: Part | undefined;
  responseBody?: Part | undefined;
}

interface ExchangeOptions {
  ring: KeyRing;
  secrets: readonly string[];
  versionHeader: string;
  basePath: string;
}

export class Exchanges {
  onExchange: () => void = () => {};
  readonly #options: ExchangeOptions;
  readonly #known: TrafficRedactor;
  /** Redactors for credentials other than the platform's API keys, e.g. device tokens, which are secret too. */
  readonly #strangers = new Map<string, TrafficRedactor>();
  readonly #open = new WeakMap<IncomingMessage, Kept>();
  #kept: Kept[] = [];
  /** Number of finished requests, including discarded ones. */
  count = 0;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#known = new TrafficRedactor(options.secrets);
  }

  readonly hidden = (text: string): string => this.#known.text(text);

  /** Call before routes are registered, because only later routes inherit the hook. */
  listenTo(app: FastifyInstance): void {
    // Listens on the server itself, because fastify answers some requests without calling hooks.
    app.server.prependListener('request', (request: IncomingMessage, response: ServerResponse) =>
      this.#begin(request, response),
    );
    app.addHook('onSend', (request, reply, payload, done) => {
      Object.assign(this.#open.get(request.raw) ?? {}, {
        route: request.routeOptions.url,
        responseHeaders: reply.getHeaders(),
        requestBody: partOf(request.body),
        responseBody: partOf(payload),
      });
      done(null, payload);
    });
  }

  since(number: number): RequestLine[] {
    return this.#kept.filter((each) => each.number > number).map((each) => this.#line(each, this.#mask(each)));
  }

  get(number: number): Exchange | undefined {
    const kept = this.#kept.find((each) => each.number === number);
    if (kept === undefined) return undefined;
    const mask = this.#mask(kept);
    const shown = (name: string, value: unknown): [string, string] => [name, short(mask.header(name, String(value)))];
    return {
      line: this.#line(kept, mask),
      requestHeaders: pairsOf(kept.rawHeaders).map(([name, value]) => shown(name, value)),
      requestBody: bodyOf(kept.requestBody, mask),
      responseHeaders: Object.entries(kept.responseHeaders).map(([name, value]) => shown(name, value)),
      responseBody: bodyOf(kept.responseBody, mask),
    };
  }

  clear(): void {
    this.#kept = [];
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '', rawHeaders } = request;
    const kept: Kept = { number: 0, at: Date.now(), ms: 0, method, url, rawHeaders, status: null, responseHeaders: {} };
    const began = performance.now();
    this.#open.set(request, kept);
    response.once('close', () => {
      kept.ms = performance.now() - began;
      kept.status = response.headersSent ? response.statusCode : null;
      this.count += 1;
      kept.number = this.count;
      this.#kept.push(kept);
      if (this.#kept.length > KEPT_REQUESTS) this.#kept.shift();
      this.onExchange();
    });
  }

  #line(kept: Kept, mask: TrafficRedactor): RequestLine {
    const { number, at, ms, method, url, status, route = '' } = kept;
    const { basePath, ring, versionHeader } = this.#options;
    const version = headerOf(kept, versionHeader);
    const isPublished = route.startsWith(`${basePath}/`) && !route.includes('*');
    const presented = headerOf(kept, 'x-api-key');
    const nobody = url.startsWith(`${AGENT_BASE_PATH}/`) ? 'agent' : 'no key';
    return {
      number,
      at,
      ms: Math.round(ms * 10) / 10,
      method,
      status,
      url: short(mask.url(url)),
      route: isPublished ? route.slice(basePath.length).replaceAll(/:(\w+)/g, '{$1}') : null,
      version: version === undefined ? null : short(mask.text(version)),
      key: presented === undefined ? nobody : (ring.find(presented)?.name ?? 'unknown key'),
    };
  }

  #mask(kept: Kept): TrafficRedactor {
    const { secrets } = this.#options;
    const presented = [headerOf(kept, 'x-api-key'), headerOf(kept, 'authorization')?.split(' ').at(-1)].filter(
      (text) => text !== undefined && text !== '' && !secrets.includes(text),
    ) as string[];
    if (presented.length === 0) return this.#known;
    const key = JSON.stringify(presented);
    const known = this.#strangers.get(key) ?? new TrafficRedactor([...secrets, ...presented]);
    if (this.#strangers.size >= 100) this.#strangers.clear();
    this.#strangers.set(key, known);
    return known;
  }
}

/** Copies the start of a large body, so that the body can be freed. */
function partOf(body: unknown): Part | undefined {
  if (typeof body === 'string') {
    const text = body.length > KEPT_BODY ? Buffer.from(body.slice(0, KEPT_BODY)) : body;
    return { text, bytes: Buffer.byteLength(body) };
  }
  if (!(body instanceof Uint8Array)) return undefined;
  return { text: Buffer.from(body.subarray(0, KEPT_BODY)), bytes: body.length };
}

function bodyOf(part: Part | undefined, mask: TrafficRedactor): ShownBody | null {
  if (part === undefined || part.bytes === 0) return null;
  const { bytes } = part;
  const known = String(part.text);
  const cut = Buffer.byteLength(part.text) < bytes;
  const text = mask.body(known, cut);
  return { text: text.slice(0, SHOWN_BODY), bytes, cut: cut || text.length > SHOWN_BODY };
}

const short = (text: string): string => (text.length > SHOWN_TEXT ? `${text.slice(0, SHOWN_TEXT)}…` : text);

const pairsOf = (raw: readonly string[]): [string, string][] =>
  raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as [string, string]] : []));

const headerOf = ({ rawHeaders }: Kept, name: string): string | undefined =>
  pairsOf(rawHeaders).find(([each]) => each.toLowerCase() === name.toLowerCase())?.[1];
