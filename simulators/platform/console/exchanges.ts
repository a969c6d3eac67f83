/**
 * The last requests to a platform with their answers. Bodies are kept in part; secrets are masked only when somebody
 * looks.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AGENT_BASE_PATH } from '../../../harness/contract/agent.ts';
import type { Exchange, RequestLine, ShownBody } from '../../console/page/platform/document.ts';
import type { KeyRing } from '../keys.ts';

// Masks secrets in what the console shows: by the name they go under, by their form, and where they are known by their
// text. Whatever a client sends is read once from its beginning to its end: no pattern begins again within its own
// match.

const MASK = '***';

/** Headers that carry a credential. */
const HEADERS = /^(?:x-api-key|(?:proxy-)?authorization|cookie|set-cookie)$/i;
/** Members, parameters and headers whose value is a secret. */
const NAME = String.raw`[\w-]*(?:token|password|passwd|secret|authorization|api[_-]?key|private_key(?:_pem)?)`;
const WHOLE_NAME = new RegExp(`^${NAME}$`, 'i');
/** In JSON that was cut, and so cannot be read. */
const MEMBER = new RegExp(String.raw`("${NAME}"\s*:\s*)(?:"(?:[^"\\]|\\.)*(?:"|\\?$)|[^\s,}\]"[{]+)`, 'gis');
/** In JSON that is a string in JSON. */
const INNER_MEMBER = new RegExp(String.raw`((?<!\\)\\+"${NAME}\\+"\s*:\s*\\+")(?:[^\\]|\\+(?![\\"]))*(\\+"|$)`, 'gis');
/** A JWT may begin in it. */
const DOTTED = /(?<![\w-])[\w-]+(?:\.[\w-]*)+/g;
const BEARER = /\b(Bearer|Basic)\s+[\w.~+/=-]+/gi;
/** Shorter ones are masked only where they are a whole value: they may be words. */
const DISTINCT = 6;

/** Masks what is secret of itself, and the given secrets. */
export class Mask {
  readonly #whole: ReadonlySet<string>;
  readonly #forms: readonly string[];

  constructor(secrets: Iterable<string>) {
    this.#whole = new Set(secrets);
    this.#forms = [...this.#whole]
      .filter(({ length }) => length >= DISTINCT)
      .flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])
      .sort((one, other) => other.length - one.length);
  }

  header(name: string, value: string): string {
    return HEADERS.test(name) || WHOLE_NAME.test(name) ? MASK : this.text(value);
  }

  /** Path and query. */
  url(url: string): string {
    const [path = '', ...query] = url.split('?');
    if (query.length === 0) return this.text(path);
    const parameters = query
      .join('?')
      .split('&')
      .map((parameter) => {
        const [name = '', ...rest] = parameter.split('=');
        const value = rest.join('=');
        const isSecret = rest.length > 0 && (WHOLE_NAME.test(decoded(name)) || this.#whole.has(decoded(value)));
        return isSecret ? `${name}=${MASK}` : parameter;
      });
    return this.text(`${path}?${parameters.join('&')}`);
  }

  /** A body: JSON is masked member by member, unless it was cut. */
  body(text: string, cut: boolean): string {
    const value = cut ? undefined : parsed(text);
    if (value !== undefined) return this.text(JSON.stringify(this.#value(value)));
    return this.text(text.replaceAll(INNER_MEMBER, `$1${MASK}$2`).replaceAll(MEMBER, `$1"${MASK}"`));
  }

  text(text: string): string {
    let masked = this.#whole.has(text) ? MASK : text;
    for (const form of this.#forms) masked = masked.replaceAll(form, MASK);
    return masked.replaceAll(BEARER, `$1 ${MASK}`).replaceAll(DOTTED, withoutJwt);
  }

  #value(value: unknown): unknown {
    if (typeof value === 'string') return this.#string(value);
    if (Array.isArray(value)) return value.map((each) => this.#value(each));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, WHOLE_NAME.test(name) ? MASK : this.#value(each)]),
    );
  }

  #string(value: string): string {
    if (this.#whole.has(value)) return MASK;
    const inner = /^\s*[[{]/.test(value) ? parsed(value) : undefined;
    if (inner === undefined) return this.text(value);
    const masked = JSON.stringify(this.#value(inner));
    // What holds no secret is shown as it was written.
    return masked === JSON.stringify(inner) ? this.text(value) : masked;
  }
}

function withoutJwt(dotted: string): string {
  const at = dotted.search(/\beyJ[\w-]/);
  return at === -1 || !dotted.includes('.', at + 4) ? dotted : dotted.slice(0, at) + MASK;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

/** Requests that are kept. */
export const KEPT_REQUESTS = 500;
/** Characters of a body that are shown. */
const SHOWN_BODY = 16_384;
/** More is kept than shown, so that a secret is never cut before it is masked. */
const KEPT_BODY = SHOWN_BODY + 4_096;
/** Characters of a path, a header or a version that are shown. */
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
  /** As the server has it, with its base path. */
  route?: string | undefined;
  status: number | null;
  responseHeaders: object;
  requestBody?: Part | undefined;
  responseBody?: Part | undefined;
}

export interface ExchangeOptions {
  ring: KeyRing;
  /** Texts of the keys, to mask them. */
  secrets: readonly string[];
  versionHeader: string;
  /** Base path of the Platform API. */
  basePath: string;
}

/** Listens to a server, and keeps the newest exchanges. */
export class Exchanges {
  /** Called after each one. */
  onExchange: () => void = () => {};
  readonly #options: ExchangeOptions;
  readonly #known: Mask;
  readonly #open = new WeakMap<IncomingMessage, Kept>();
  #kept: Kept[] = [];
  #count = 0;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#known = new Mask(options.secrets);
  }

  /** A text without the platform's keys. */
  readonly hidden = (text: string): string => this.#known.text(text);

  /** Requests since the start. */
  get count(): number {
    return this.#count;
  }

  /** Call it before routes are added: they take its hook over. */
  listenTo(app: FastifyInstance): void {
    // Ahead of the framework, which answers some requests before any of its hooks.
    app.server.prependListener('request', (request: IncomingMessage, response: ServerResponse) =>
      this.#begin(request, response),
    );
    app.addHook('onSend', (request, reply, payload, done) => {
      this.#sent(request, reply, payload);
      done(null, payload);
    });
  }

  /** The requests after that number, oldest first. */
  since(number: number): RequestLine[] {
    return this.#kept.filter((each) => each.number > number).map((each) => this.#line(each, this.#mask(each)));
  }

  /** Undefined when it is no longer kept. */
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
      this.#count += 1;
      kept.number = this.#count;
      this.#kept.push(kept);
      if (this.#kept.length > KEPT_REQUESTS) this.#kept.shift();
      this.onExchange();
    });
  }

  #sent(request: FastifyRequest, reply: FastifyReply, payload: unknown): void {
    const kept = this.#open.get(request.raw);
    if (kept === undefined) return;
    kept.route = request.routeOptions.url;
    kept.responseHeaders = reply.getHeaders();
    kept.requestBody = partOf(request.body);
    kept.responseBody = partOf(payload);
  }

  #line(kept: Kept, mask: Mask): RequestLine {
    const { number, at, ms, method, url, status } = kept;
    const version = headerOf(kept, this.#options.versionHeader);
    return {
      number,
      at,
      ms: Math.round(ms * 10) / 10,
      method,
      status,
      url: short(mask.url(url)),
      route: this.#route(kept),
      version: version === undefined ? null : short(mask.text(version)),
      key: this.#key(kept),
    };
  }

  #route({ route = '' }: Kept): string | null {
    const { basePath } = this.#options;
    if (!route.startsWith(`${basePath}/`) || route.includes('*')) return null;
    return route.slice(basePath.length).replaceAll(/:(\w+)/g, '{$1}');
  }

  #key(kept: Kept): string {
    const presented = headerOf(kept, 'x-api-key');
    if (presented !== undefined) return this.#options.ring.find(presented)?.name ?? 'unknown key';
    return kept.url.startsWith(`${AGENT_BASE_PATH}/`) ? 'agent' : 'no key';
  }

  /** Knows also what this request presented: a key that is wrong here may be right elsewhere. */
  #mask(kept: Kept): Mask {
    const presented = [headerOf(kept, 'x-api-key'), headerOf(kept, 'authorization')?.split(' ').at(-1)];
    return new Mask([
      ...this.#options.secrets,
      ...presented.filter((text) => text !== undefined && text !== ''),
    ] as string[]);
  }
}

/** A copy of its beginning: what is kept must not keep a large body from being freed. */
function partOf(body: unknown): Part | undefined {
  if (typeof body === 'string') {
    const text = body.length > KEPT_BODY ? Buffer.from(body.slice(0, KEPT_BODY)) : body;
    return { text, bytes: Buffer.byteLength(body) };
  }
  if (!(body instanceof Uint8Array)) return undefined;
  return { text: Buffer.from(body.subarray(0, KEPT_BODY)), bytes: body.length };
}

function bodyOf(part: Part | undefined, mask: Mask): ShownBody | null {
  if (part === undefined || part.bytes === 0) return null;
  const { bytes } = part;
  const known = String(part.text);
  const cut = Buffer.byteLength(part.text) < bytes;
  const text = mask.body(known, cut);
  return { text: text.slice(0, SHOWN_BODY), bytes, cut: cut || text.length > SHOWN_BODY };
}

const short = (text: string): string => (text.length > SHOWN_TEXT ? `${text.slice(0, SHOWN_TEXT)}…` : text);

function pairsOf(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as [string, string]] : []));
}

const headerOf = ({ rawHeaders }: Kept, name: string): string | undefined =>
  pairsOf(rawHeaders).find(([each]) => each.toLowerCase() === name.toLowerCase())?.[1];
