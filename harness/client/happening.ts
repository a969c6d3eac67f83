/**
 * Observations of a target for rules: whole answers and frames of event streams; of watched traffic also requests and
 * ends of exchanges.
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
  /** Undefined if the body is no JSON. */
  readonly json: unknown;
}

/** Request of a watched client, with its secrets. */
export interface RequestSeen {
  readonly method: string;
  /** Path and query as received. */
  readonly target: string;
  readonly path: string;
  /** Headers that rules read; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined until it is whole, and if it is unknown. Empty if there is none. */
  readonly body?: string | undefined;
  /** One object for each connection; behind a proxy one for each request, which stays open. */
  readonly connection: { readonly open: boolean };
  /** Identity of clients of one kind; several clients may share it. */
  readonly client: string;
  readonly at: number;
}

/** End of a watched exchange: whole, cut off by a side, or unseen. */
export interface Over {
  readonly ended: 'whole' | 'server' | 'client' | 'unseen';
  readonly at: number;
  readonly status?: number;
  /** Headers that rules read; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Incomplete last block of its event stream. */
  readonly torn?: string;
  /** Beginning of an incomplete body that is no event stream by content type. */
  readonly began?: string;
}

/** `asked` is redacted, and updated as the answer comes. `request` is present for watched traffic. */
export type Happening =
  /** `path`: of the request, below the origin, with query. */
  | { kind: 'answer'; asked: Asked; path: string; answer: AnswerSeen; request?: RequestSeen }
  /** `stream`: the same object for each frame of a stream. */
  | { kind: 'frame'; asked: Asked; stream: object; frame: SseFrame; request?: RequestSeen }
  | { kind: 'asked'; asked: Asked; request: RequestSeen }
  | { kind: 'over'; asked: Asked; request: RequestSeen; over: Over };
