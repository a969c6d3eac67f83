/** Observations that rules judge: answers and frames of a target, and requests of watched clients. */
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
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly json: unknown;
}

export interface RequestSeen {
  readonly method: string;
  readonly target: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** `''` for a request without a body; undefined until complete, or if unknown. */
  readonly body?: string | undefined;
  /** Same object for all requests on the connection; behind a proxy, each request has its own, which is always open. */
  readonly connection: { readonly open: boolean };
  readonly client: string;
  readonly at: number;
}

export interface ExchangeEnd {
  readonly ended: 'whole' | 'server' | 'client' | 'unseen';
  readonly at: number;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly torn?: string;
  readonly began?: string;
}

/** `asked`: redacted, updated until the answer ends; `request`: only in watched traffic. */
export type Happening =
  | { kind: 'answer'; asked: Asked; path: string; answer: AnswerSeen; request?: RequestSeen }
  | { kind: 'frame'; asked: Asked; stream: object; frame: SseFrame; request?: RequestSeen }
  | { kind: 'asked'; asked: Asked; request: RequestSeen }
  | { kind: 'over'; asked: Asked; request: RequestSeen; over: ExchangeEnd };
