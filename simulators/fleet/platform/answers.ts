/** A sample of the platform's answers for whoever judges them: whole exchanges without secrets, within a budget. */
import type { PlatformHttpOptions } from '../../common/platform-http.ts';
import { type PlatformAddress, withoutKey } from './client.ts';

/** A request to the Platform API, and its whole answer. */
export interface Exchange {
  /** When it was asked for, milliseconds since 1970, and how long it took. */
  at: number;
  ms: number;
  method: string;
  /** Path and query below the base URL. */
  path: string;
  /** Those of the request. The API key is masked. */
  headers: Readonly<Record<string, string>>;
  /** Body of the request. */
  sent?: string;
  status: number;
  /** Those of the answer that say what it is. */
  answered: Readonly<Record<string, string>>;
  body: string;
  /** The phase in which the answer came. */
  phase: string;
}

/** What a host tells: how many whole answers it got since it last told, and one of them. */
export interface AnswersTold {
  answers: number;
  exchange?: Exchange;
}

interface SamplerOptions {
  platform: PlatformAddress;
  /** What it may tell, bytes a second. */
  bytesPerSecond: number;
  phase(): string;
  tell(told: AnswersTold): void;
}

/** What an exchange takes beside its bodies, bytes. */
const EACH = 2000;

/** What an exchange takes of a sample, bytes. */
export const weightOf = ({ body, sent = '' }: Pick<Exchange, 'body' | 'sent'>): number =>
  EACH + body.length + sent.length;

/** A larger body would hold up the process while it is passed on. */
const MOST_BODY = 2 ** 20;
/** So many of a kind are told however busy it is: a rare request is as worth judging as a frequent one. */
const FIRST = 3;
const MOST_KINDS = 200;
const KEPT = ['content-type', 'date', 'retry-after'];
/** Their answers are secrets. */
const SECRET = /^\/provisioning_tokens\b/;

export class AnswerSampler {
  bytesPerSecond: number;
  readonly #options: SamplerOptions;
  readonly #kinds = new Map<string, number>();
  #answers = 0;
  #left: number;
  #at = performance.now();

  constructor(options: SamplerOptions) {
    this.#options = options;
    this.bytesPerSecond = options.bytesPerSecond;
    this.#left = options.bytesPerSecond;
  }

  /** Tells what was not told yet. */
  flush(): void {
    if (this.#answers > 0) this.#tell({});
  }

  /** Takes each whole answer. */
  readonly take: NonNullable<PlatformHttpOptions['onAnswer']> = (request, answer, ms) => {
    this.#answers += 1;
    const { method, path, body: sent = '' } = request;
    const { status, bytes } = answer;
    if (bytes.length > MOST_BODY || SECRET.test(path) || !isReadable(answer) || !this.#hasRoom(method, path, status))
      return;
    const { platform, phase } = this.#options;
    const { buffer, byteOffset, byteLength } = bytes;
    const exchange: Exchange = {
      at: performance.timeOrigin + performance.now() - ms,
      ms,
      method,
      path,
      headers: Object.fromEntries(Object.entries(request.headers).map(shownHeader)),
      status,
      answered: Object.fromEntries(KEPT.flatMap((name) => pairOf(name, answer.headers[name]))),
      body: withoutKey(Buffer.from(buffer, byteOffset, byteLength).toString(), platform),
      phase: phase(),
      ...(sent !== '' && { sent: withoutKey(sent, platform) }),
    };
    this.#left -= weightOf(exchange);
    this.#tell({ exchange });
  };

  #tell(more: Pick<AnswersTold, 'exchange'>): void {
    this.#options.tell({ answers: this.#answers, ...more });
    this.#answers = 0;
  }

  #hasRoom(method: string, path: string, status: number): boolean {
    const now = performance.now();
    this.#left = Math.min(this.bytesPerSecond, this.#left + ((now - this.#at) * this.bytesPerSecond) / 1000);
    this.#at = now;
    const kind = kindOf(method, path, status);
    const known = this.#kinds.get(kind) ?? 0;
    if (known < FIRST && this.#kinds.size < MOST_KINDS) {
      this.#kinds.set(kind, known + 1);
      return true;
    }
    // One that is larger than what is left delays the next ones: so its size decides nothing.
    return this.#left > 0;
  }
}

/** Whoever asks again has the key. */
const shownHeader = ([name, value]: [string, string]): [string, string] =>
  /^x-api-key$/i.test(name) ? ['x-api-key', '***'] : [name, value];

/** Collection, depth and action: ids would make every request a kind of its own. */
function kindOf(method: string, path: string, status: number): string {
  const [, collection = '', ...more] = path.replace(/\?.*/, '').split('/');
  return `${status} ${method} ${collection} ${more.length} ${more[1] ?? ''}`;
}

type Answer = Parameters<NonNullable<PlatformHttpOptions['onAnswer']>>[1];

/**
 * Whether its body is known whole, and as text. One that ends with its connection looks the same when it was cut, and
 * no coding was asked for.
 */
function isReadable({ headers, bytes }: Answer): boolean {
  const isWhole = bytes.length === 0 || (headers['content-length'] ?? headers['transfer-encoding']) !== undefined;
  return isWhole && (headers['content-encoding'] ?? 'identity') === 'identity';
}

const pairOf = (name: string, value: string | string[] | undefined): [string, string][] =>
  value === undefined ? [] : [[name, value.toString()]];
