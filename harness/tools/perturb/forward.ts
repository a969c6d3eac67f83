import http from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { isObject } from '../../common/lenient.ts';
import { type Json, writtenAs } from './change.ts';
import { groupOf, type Perturbation } from './perturbation.ts';

export type Upstream = { socketPath: string } | { host: string; port: number };

export interface Exchange {
  method: string;
  url: string;
  /** Alternating names and values. */
  headers: string[];
  body: Buffer;
  connection: 'new' | 'kept';
}

export interface Answer {
  status: number;
  reason: string;
  headers: string[];
  body: Buffer;
  /** `Content-Length` of the server's answer; an answer to HEAD has no body. */
  length?: string | undefined;
}

const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'expect', 'upgrade']);

/** Removes hop-by-hop headers (RFC 9110, section 7.6.1), `Content-Length` and `Expect`. */
export const endToEnd = (raw: readonly string[]): string[] =>
  raw.filter((_, n) => !HOP_BY_HOP.has((raw[n - (n % 2)] ?? '').toLowerCase()));

export function headerOf(raw: readonly string[], name: string): string | undefined {
  const index = raw.findIndex((each, n) => n % 2 === 0 && each.toLowerCase() === name);
  return index === -1 ? undefined : raw[index + 1];
}

export function withHeader(raw: readonly string[], name: string, value: string | undefined): string[] {
  const others = raw.filter((_, n) => raw[n - (n % 2)]?.toLowerCase() !== name);
  return value === undefined ? others : [...others, name, value];
}

export const queryOf = (url: string): URLSearchParams => new URLSearchParams(url.split('?').slice(1).join('?'));

/** `expand.NAME` removes only NAME from the list `expand`. */
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

export function jsonOf({ headers, body }: Answer): unknown {
  if (headerOf(headers, 'content-type')?.includes('json') !== true) return undefined;
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

/** `v`: an exchange of the chosen class; `a`: a changed exchange. */
export type Trace = (letter: 'v' | 'a') => void;

export abstract class Changes {
  protected readonly it: Perturbation;
  protected readonly upstream: Upstream;
  protected readonly trace: Trace;

  constructor(it: Perturbation, upstream: Upstream, trace: Trace) {
    this.it = it;
    this.upstream = upstream;
    this.trace = trace;
  }

  protected async open(
    { method, url, headers, body }: Exchange,
    upstream = this.upstream,
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
        // Retries after 5 ms, because the server's queue of connections is full.
        await setTimeout(5);
      }
    }
  }

  protected async whole(message: http.IncomingMessage): Promise<Answer> {
    const { statusCode: status = 0, statusMessage: reason = '', rawHeaders } = message;
    const length = headerOf(rawHeaders, 'content-length');
    return { status, reason, headers: endToEnd(rawHeaders), length, body: Buffer.concat(await message.toArray()) };
  }

  protected async ask(exchange: Exchange, upstream = this.upstream): Promise<Answer> {
    return this.whole(await this.open(exchange, upstream));
  }

  protected async read(url: string, headers: string[]): Promise<unknown> {
    const answer = await this.ask({ method: 'GET', url, headers, body: Buffer.alloc(0), connection: 'new' });
    return answer.status === 200 ? jsonOf(answer) : undefined;
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

  protected changed(answer: Answer, change: (body: Json) => void): Answer {
    const { kind, value } = this.it;
    if (kind === 'refused') return this.refusal();
    if (kind === 'status') return this.applied({ ...answer, status: Number(value), reason: '' });
    if (kind === 'media')
      return this.applied({ ...answer, headers: withHeader(answer.headers, 'content-type', 'text/plain') });
    const body = jsonOf(answer);
    const before = JSON.stringify(body);
    const isWriting = groupOf(kind) === 'json';
    if (!isWriting && isObject(body)) change(body);
    const made = isWriting && body !== undefined ? writtenAs(kind, body) : JSON.stringify(body);
    return made === undefined || (made === before && !isWriting)
      ? answer
      : this.applied({ ...answer, body: Buffer.from(made) });
  }
}
