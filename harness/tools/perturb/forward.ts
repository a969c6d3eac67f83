/** HTTP as the proxy forwards it, and what it does alike to the answers of both APIs. */
import http from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { isObject, type Json, writtenAs } from './change.ts';
import type { Perturbation } from './perturbation.ts';

/** Where the server is. */
export type Upstream = { socketPath: string } | { host: string; port: number };

export interface Exchange {
  method: string;
  url: string;
  /** Names and values in turn. */
  headers: string[];
  body: Buffer;
  connection: 'new' | 'kept';
}

export interface Answer {
  status: number;
  reason: string;
  /** Names and values in turn. */
  headers: string[];
  body: Buffer;
  /** As the server gave it. */
  length?: string | undefined;
}

const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'expect', 'upgrade']);

/** Headers without those that belong to one connection. */
export const endToEnd = (raw: readonly string[]): string[] =>
  raw.filter((_, n) => !HOP_BY_HOP.has((raw[n - (n % 2)] ?? '').toLowerCase()));

/** The first value of a header; the name in small letters. */
export function headerOf(raw: readonly string[], name: string): string | undefined {
  const index = raw.findIndex((each, n) => n % 2 === 0 && each.toLowerCase() === name);
  return index === -1 ? undefined : raw[index + 1];
}

/** The headers with that one instead; without it where there is no value. */
export function withHeader(raw: readonly string[], name: string, value: string | undefined): string[] {
  const others = raw.filter((_, n) => raw[n - (n % 2)]?.toLowerCase() !== name);
  return value === undefined ? others : [...others, name, value];
}

export const queryOf = (url: string): URLSearchParams => new URLSearchParams(url.split('?').slice(1).join('?'));

/** The address without a parameter; of `expand.NAME`, without that name. Everything else stays as it was written. */
export function withoutParameter(url: string, parameter: string): string {
  const [path = '', ...rest] = url.split('?');
  const [name, one] = parameter.split('.');
  const left = rest
    .join('?')
    .split('&')
    .flatMap((pair) => {
      const [[key = '', value = ''] = []] = [...new URLSearchParams(pair)];
      if (key.replace('[]', '') !== name) return [pair];
      const values = one === undefined ? [] : value.split(',').filter((each) => each !== one);
      return values.length === 0 ? [] : [`${key}=${values.map(encodeURIComponent).join(',')}`];
    });
  return left.length === 0 ? path : `${path}?${left.join('&')}`;
}

/** A server whose queue of connections is full takes the next one soon. */
const FULL_MS = 5;

/** Sends a request on a connection of its own. Resolves with the head of the answer. */
export async function ask(
  upstream: Upstream,
  { method, url, headers, body }: Omit<Exchange, 'connection'>,
  signal?: AbortSignal,
): Promise<http.IncomingMessage> {
  const length = body.length > 0 || !['GET', 'HEAD'].includes(method) ? ['Content-Length', String(body.length)] : [];
  const own = [...endToEnd(headers), ...length, 'Connection', 'close'];
  const options = { ...upstream, method, path: url, headers: own, agent: false, ...(signal && { signal }) };
  for (;;) {
    const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
    http.request(options, resolve).on('error', reject).end(body);
    try {
      return await promise;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      await setTimeout(FULL_MS);
    }
  }
}

/** The whole of an answer. */
export async function whole(message: http.IncomingMessage): Promise<Answer> {
  const { statusCode = 0, statusMessage = '', rawHeaders } = message;
  return {
    status: statusCode,
    reason: statusMessage,
    headers: endToEnd(rawHeaders),
    length: headerOf(rawHeaders, 'content-length'),
    body: Buffer.concat(await message.toArray()),
  };
}

/** The JSON of an answer; undefined where it is none. */
export function jsonOf({ headers, body }: Answer): unknown {
  if (headerOf(headers, 'content-type')?.includes('json') !== true) return undefined;
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

/** Called with `v` for each exchange of the class, and with `a` for each that was changed. */
export type Trace = (letter: 'v' | 'a') => void;

/** What stands before either API. */
export abstract class Changes {
  protected readonly it: Perturbation;
  protected readonly upstream: Upstream;
  protected readonly trace: Trace;

  constructor(it: Perturbation, upstream: Upstream, trace: Trace) {
    this.it = it;
    this.upstream = upstream;
    this.trace = trace;
  }

  protected applied(answer: Answer): Answer {
    this.trace('a');
    return answer;
  }

  protected refusal(): Answer {
    const headers = ['Content-Type', 'application/json'];
    const body = Buffer.from(JSON.stringify({ error: { message: 'not now' } }));
    return this.applied({ status: Number(this.it.value), reason: '', headers, body });
  }

  /** A success with another status or media type, or a refusal in its place; or its body as `change` leaves it. */
  protected changed(answer: Answer, change: (body: Json) => void): Answer {
    const { kind, value } = this.it;
    if (kind === 'refused') return this.refusal();
    if (kind === 'status') return this.applied({ ...answer, status: Number(value), reason: '' });
    if (kind === 'media')
      return this.applied({ ...answer, headers: withHeader(answer.headers, 'content-type', 'text/plain') });
    const body = jsonOf(answer);
    if (!isObject(body)) return answer;
    const text = JSON.stringify(body);
    change(body);
    const made = JSON.stringify(body);
    return made === text ? answer : this.applied({ ...answer, body: Buffer.from(made) });
  }

  /** The same body in another writing. */
  protected rewritten(answer: Answer): Answer {
    const body = jsonOf(answer);
    const text = body === undefined ? undefined : writtenAs(this.it.kind, body);
    return text === undefined ? answer : this.applied({ ...answer, body: Buffer.from(text) });
  }
}
