/**
 * Observations of a target for rules: whole answers and frames; of watched traffic also requests and ends of exchanges.
 */
import type { SseFrame } from './sse-parser.ts';

export interface Asked {
  method: string;
  url: string;
  status?: number;
  error?: string;
  duration_ms: number;
  curl: string;
}

export interface AnswerSeen {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly json: unknown;
}

/** Request of a watched client, with its secrets. */
export interface RequestSeen {
  readonly method: string;
  /** Path and query as received. */
  readonly target: string;
  readonly path: string;
  /** Headers that rules read, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined until whole, and if unknown. Empty without a body. */
  readonly body?: string | undefined;
  /** Object for each connection; behind a proxy for each request, and always open. */
  readonly connection: { readonly open: boolean };
  /** Kind of client; several clients may share it. */
  readonly client: string;
  readonly at: number;
}

/** End of a watched exchange; nobody saw an `unseen` end. */
export interface Over {
  readonly ended: 'whole' | 'server' | 'client' | 'unseen';
  readonly at: number;
  readonly status?: number;
  /** Headers that rules read, names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Incomplete last block of the event stream. */
  readonly torn?: string;
  /** Beginning of an incomplete body, unless an event stream by content type. */
  readonly began?: string;
}

/** `asked` is redacted, and updated as the answer comes. `request` is present for watched traffic. */
export type Happening =
  /** Path of the request below the origin, with query. */
  | { kind: 'answer'; asked: Asked; path: string; answer: AnswerSeen; request?: RequestSeen }
  /** `stream`: the same object for each frame of a stream. */
  | { kind: 'frame'; asked: Asked; stream: object; frame: SseFrame; request?: RequestSeen }
  | { kind: 'asked'; asked: Asked; request: RequestSeen }
  | { kind: 'over'; asked: Asked; request: RequestSeen; over: Over };
