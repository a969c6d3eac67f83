/** Samples exchanges with the platform for checks, without secrets and within a budget of bytes. */
import type { PlatformHttpOptions } from '../../common/platform-http.ts';
import { type PlatformAddress, withoutKey } from './client.ts';

export interface Exchange {
  /** Start of the request, in milliseconds since 1970; `ms` is the duration. */
  at: number;
  ms: number;
  method: string;
  path: string;
  headers: Readonly<Record<string, string>>;
  sent?: string;
  status: number;
  answered: Readonly<Record<string, string>>;
  body: string;
  phase: string;
}

/** `answers` counts all answers since the last notice. */
export interface AnswersTold {
  answers: number;
  exchange?: Exchange;
}

interface SamplerOptions {
  platform: PlatformAddress;
  bytesPerSecond: number;
  phase(): string;
  tell(told: AnswersTold): void;
}

/** Exchanges of each kind that ignore the budget of bytes, so that rare requests are checked, too. */
const FIRST = 3;
const MOST_KINDS = 200;
const KEPT = ['content-type', 'date', 'retry-after'];
const SECRET = /^\/provisioning_tokens\b/;

export class AnswerSampler {
  readonly #options: SamplerOptions;
  readonly #kinds = new Map<string, number>();
  readonly #secrets: ReadonlySet<string>;
  #answers = 0;
  #left: number;
  #at = performance.now();

  constructor(options: SamplerOptions) {
    this.#options = options;
    this.#left = options.bytesPerSecond;
    const names = ['x-api-key', ...Object.keys(options.platform.headers ?? {})];
    this.#secrets = new Set(names.map((name) => name.toLowerCase()));
  }

  flush(): void {
    if (this.#answers > 0) this.#tell({});
  }

  readonly take: NonNullable<PlatformHttpOptions['onAnswer']> = (request, answer, ms) => {
    this.#answers += 1;
    const { method, path, body: sent = '' } = request;
    const { status, bytes, headers } = answer;
    const isWhole = bytes.length === 0 || (headers['content-length'] ?? headers['transfer-encoding']) !== undefined;
    // Skips a compressed body, and a body without length or chunks, which may be cut off.
    const isReadable = isWhole && (headers['content-encoding'] ?? 'identity') === 'identity';
    // Maximum bytes of a sampled body; sending a larger one to the judge stalls the process.
    if (bytes.length > 2 ** 20 || SECRET.test(path) || !isReadable || !this.#hasRoom(method, path, status)) return;
    const { platform, phase } = this.#options;
    const { buffer, byteOffset, byteLength } = bytes;
    const exchange: Exchange = {
      at: performance.timeOrigin + performance.now() - ms,
      ms,
      method,
      path,
      // Keeps the names of secret headers, so that a reader can repeat the request with values of their own.
      headers: Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => {
          const known = name.toLowerCase();
          return this.#secrets.has(known) ? [known, '***'] : [name, value];
        }),
      ),
      status,
      answered: Object.fromEntries(
        KEPT.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name].toString()]])),
      ),
      body: withoutKey(Buffer.from(buffer, byteOffset, byteLength).toString(), platform),
      phase: phase(),
      ...(sent !== '' && { sent: withoutKey(sent, platform) }),
    };
    this.#left -= 2000 + exchange.body.length + sent.length;
    this.#tell({ exchange });
  };

  #tell(more: Pick<AnswersTold, 'exchange'>): void {
    this.#options.tell({ answers: this.#answers, ...more });
    this.#answers = 0;
  }

  #hasRoom(method: string, path: string, status: number): boolean {
    const now = performance.now();
    const { bytesPerSecond } = this.#options;
    this.#left = Math.min(bytesPerSecond, this.#left + ((now - this.#at) * bytesPerSecond) / 1000);
    this.#at = now;
    // Groups requests by collection, depth and action, because ids make every path unique.
    const [, collection = '', ...more] = path.replace(/\?.*/, '').split('/');
    const kind = `${status} ${method} ${collection} ${more.length} ${more[1] ?? ''}`;
    const known = this.#kinds.get(kind) ?? 0;
    if (known < FIRST && this.#kinds.size < MOST_KINDS) {
      this.#kinds.set(kind, known + 1);
      return true;
    }
    // Samples while any budget is left, so that even a large answer can be sampled.
    return this.#left > 0;
  }
}
