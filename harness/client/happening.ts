/** Observations of a target that rules judge: answers, frames, and requests of watched clients. */
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
  /** Undefined until complete, or if unknown; empty for a request without a body. */
  readonly body?: string | undefined;
  /** Shared by the requests of a connection. Behind a proxy, connections are unknown and count as open. */
  readonly connection: { readonly open: boolean };
  readonly client: string;
  readonly at: number;
}

export interface Over {
  readonly ended: 'whole' | 'server' | 'client' | 'unseen';
  readonly at: number;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly torn?: string;
  readonly began?: string;
}

/** `asked` is redacted, and updated as the answer arrives. Only watched traffic has `request`. */
export type Happening =
  | { kind: 'answer'; asked: Asked; path: string; answer: AnswerSeen; request?: RequestSeen }
  | { kind: 'frame'; asked: Asked; stream: object; frame: SseFrame; request?: RequestSeen }
  | { kind: 'asked'; asked: Asked; request: RequestSeen }
  | { kind: 'over'; asked: Asked; request: RequestSeen; over: Over };
