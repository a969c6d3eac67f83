import type { Asked, RequestSeen } from '../client/happening.ts';
import { curlLine } from '../client/request-forms.ts';
import type { Pairs } from '../common/http-parser.ts';
import type { TrafficRedactor } from '../common/traffic-redactor.ts';

export interface Body {
  readonly text?: string;
  readonly base64?: string;
  readonly size: number;
  /** Set if only the beginning is kept; the hash covers the whole body, and is '' if unknown, as in a HAR. */
  readonly cut?: { readonly sha256: string };
}

/** `server`, `client`: side that broke off, e.g. a client that leaves an event stream; `unseen`: unknown end. */
export type Ended = 'whole' | 'server' | 'client' | 'unseen';

/** Step of observed traffic; `at`: milliseconds since 1970, with fractions. */
export type Traffic =
  | { kind: 'opened'; at: number; connection: number }
  | { kind: 'refused'; at: number; connection: number; why: string }
  /**
   * `target`: path and query as received; `lacksHeaders`: the recording lacks headers of request or answer; `origin`:
   * server that a HAR names.
   */
  | {
      kind: 'request';
      at: number;
      connection: number;
      exchange: number;
      method: string;
      target: string;
      headers: Pairs;
      lacksHeaders?: boolean;
      origin?: string;
    }
  | { kind: 'asked'; at: number; exchange: number; body?: Body }
  | { kind: 'response'; at: number; exchange: number; status: number; headers: Pairs }
  | { kind: 'frame'; at: number; exchange: number; fields: Pairs }
  | { kind: 'over'; at: number; exchange: number; ended: Ended; body?: Body; torn?: string }
  | { kind: 'closed'; at: number; connection: number }
  | { kind: 'lost'; at: number; connection: number; why: string };

export const wholeText = (body: Body | undefined): string | undefined =>
  body === undefined ? '' : body.cut === undefined ? body.text : undefined;

export type TakeTraffic = (traffic: Traffic) => void;

export interface ServerAddress {
  readonly base: string;
  /** True if `base` may follow the path of a gateway. */
  readonly isAnywhere?: boolean;
  readonly origin: string;
  readonly socketPath?: string;
  readonly caFile?: string;
  readonly variable: string;
}

type Sent = Pick<RequestSeen, 'method' | 'target' | 'headers'>;

const NOT_REPEATED = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'expect', 'te', 'trailer']);
export const LONGEST_SHOWN = 4000;

export class RequestEvidence implements Asked {
  status?: number;
  duration_ms = 0;
  body: string | undefined;
  isOver = false;
  readonly #sent: Sent;
  readonly #place: ServerAddress;
  readonly #redactor: TrafficRedactor;

  constructor(sent: Sent, place: ServerAddress, redactor: TrafficRedactor) {
    this.#sent = sent;
    this.#place = place;
    this.#redactor = redactor;
  }

  get method(): string {
    return this.#sent.method;
  }

  get url(): string {
    return this.#place.origin + this.#redactor.url(this.#sent.target);
  }

  get curl(): string {
    const { origin, socketPath, caFile, variable } = this.#place;
    const { method, target, headers } = this.#sent;
    const isCredential = (name: string): boolean => name === 'x-api-key' || name === 'authorization';
    const repeated = Object.entries(headers)
      .filter(([name]) => !NOT_REPEATED.has(name))
      .map(([name, value]) => [name, isCredential(name) ? value : this.#redactor.header(name, value)]);
    const body = this.body === '' ? undefined : this.body;
    const line = curlLine({
      method,
      url: origin + this.#redactor.url(target),
      socketPath,
      caFile,
      headers: Object.fromEntries(repeated),
      body: body === undefined ? undefined : this.#redactor.body(body, false),
      timeoutMs: 10_000,
      stream: headers['accept'] === 'text/event-stream',
      variable: () => variable,
    });
    return this.#redactor.text(line);
  }

  get plain(): Asked {
    const { method, url, status, duration_ms, curl, isOver } = this;
    const answer = status === undefined ? !isOver && { error: 'not answered yet' } : { status };
    return { method, url, ...answer, duration_ms, curl };
  }
}
