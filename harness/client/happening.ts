/** What a run sees of its target, as rules judge it: each whole answer, and each frame of an event stream. */
import type { SseFrame } from './sse-parser.ts';

/** The exchange of a happening: its request, and the shell line that makes it again. */
export interface Asked {
  method: string;
  url: string;
  status?: number;
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

/** `asked` is redacted, and filled in as the answer comes. */
export type Happening =
  /** `path`: of the request, below the origin, with its query. */
  | { kind: 'answer'; asked: Asked; path: string; answer: AnswerSeen }
  /** `stream`: the same object for each frame of one stream. */
  | { kind: 'frame'; asked: Asked; stream: object; frame: SseFrame };
