/**
 * What is seen of a target, as rules judge it: each whole answer, and each frame of an event stream. Of traffic that
 * somebody else makes, also what the clients do.
 */
import type { SseFrame } from './sse-parser.ts';

/** The exchange of a happening: its request, and the shell line that makes it again. */
export interface Asked {
  method: string;
  url: string;
  status?: number;
  /** Why there is no answer. */
  error?: string;
  duration_ms: number;
  curl: string;
}

/** As much of an answer as a rule reads. */
export interface AnswerSeen {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** Undefined when the body is not JSON. */
  readonly json: unknown;
}

/** A request of a client that is watched. Secrets are in it. */
export interface RequestSeen {
  readonly method: string;
  /** Path and query, as they came. */
  readonly target: string;
  /** The path alone: each rule looks at it. */
  readonly path: string;
  /** Those that rules read; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined as long as it is not whole, and where it is not known. Empty for none. */
  readonly body?: string | undefined;
  /** The same object for the requests of one connection; one that stays open for each that a proxy forwards. */
  readonly connection: { readonly open: boolean };
  /** What clients of one kind have in common; several of them may have the same. */
  readonly client: string;
  /** When its head was there, milliseconds. */
  readonly at: number;
}

/** How an exchange that is watched came to its end: with a whole answer, or cut off by a side, or unseen. */
export interface Over {
  readonly ended: 'whole' | 'server' | 'client' | 'unseen';
  readonly at: number;
  /** Of the answer; undefined where none came. */
  readonly status?: number;
  /** Those that rules read; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What came of a block of its event stream that was not whole. */
  readonly torn?: string;
  /** How a body began that is no event stream by its content type, and was not seen to its end. */
  readonly began?: string;
}

/** `asked` is redacted, and filled in as the answer comes. `request`: where the traffic of others is watched. */
export type Happening =
  /** `path`: of the request, below the origin, with its query. */
  | { kind: 'answer'; asked: Asked; path: string; answer: AnswerSeen; request?: RequestSeen }
  /** `stream`: the same object for each frame of one stream. */
  | { kind: 'frame'; asked: Asked; stream: object; frame: SseFrame; request?: RequestSeen }
  /** A request is whole. */
  | { kind: 'asked'; asked: Asked; request: RequestSeen }
  /** An exchange is over; after what is seen of its answer. */
  | { kind: 'over'; asked: Asked; request: RequestSeen; over: Over };
