/**
 * What is known of the traffic between clients and a server, one thing after the other: what the reader finds in the
 * bytes, what a recording holds, and what is judged.
 */
import type { Pairs } from '../common/http-parser.ts';

/** A body, as far as it is kept. */
export interface Body {
  /** As UTF-8, where the bytes are that. Of a body in a content coding, what it holds. */
  readonly text?: string;
  /** Bytes that are no UTF-8. */
  readonly base64?: string;
  /** Bytes of the whole. */
  readonly size: number;
  /** Only its beginning is kept; the hash is of the whole. */
  readonly cut?: { readonly sha256: string };
}

/**
 * How an exchange ended: with a whole answer; cut off by the server or by the client; or nobody could look any more. A
 * stream that its client has left first was cut off by the client.
 */
export type Ended = 'whole' | 'server' | 'client' | 'unseen';

/** `at`: milliseconds since 1970, with parts. */
export type Traffic =
  | { kind: 'opened'; at: number; connection: number }
  /** No connection to the server could be made, which the client sees as one that breaks. */
  | { kind: 'refused'; at: number; connection: number; why: string }
  /**
   * The head of a request. `target`: path and query, as they came. `lacksHeaders`: those of the request, or of its
   * answer, are not known.
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
    }
  /** The request is whole. */
  | { kind: 'asked'; at: number; exchange: number; body?: Body }
  /** The head of the answer. */
  | { kind: 'response'; at: number; exchange: number; status: number; headers: Pairs }
  /** A block of an event stream, with its fields as they came. */
  | { kind: 'frame'; at: number; exchange: number; fields: Pairs }
  /** `torn`: what came of the block of an event stream that was not whole. */
  | { kind: 'over'; at: number; exchange: number; ended: Ended; body?: Body; torn?: string }
  | { kind: 'closed'; at: number; connection: number }
  /** From here on nothing is known of the connection. */
  | { kind: 'lost'; at: number; connection: number; why: string };

/** Empty for none; undefined where it is not known whole. */
export const wholeText = (body: Body | undefined): string | undefined =>
  body === undefined ? '' : body.cut === undefined ? body.text : undefined;

export type Taking = (traffic: Traffic) => void;
