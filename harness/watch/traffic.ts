/** Traffic between clients and a server, as a sequence: from the reader, in a recording, and for the judge. */
import type { Pairs } from '../common/http-parser.ts';

export interface Body {
  /** UTF-8 text, without content codings. */
  readonly text?: string;
  /** Bytes that are no UTF-8. */
  readonly base64?: string;
  readonly size: number;
  /** Set if only the beginning is kept; the hash is of the whole. */
  readonly cut?: { readonly sha256: string };
}

/**
 * End of an exchange: with a whole answer; cut off by the server or the client; or unseen. A stream whose client left
 * first was cut off by the client.
 */
export type Ended = 'whole' | 'server' | 'client' | 'unseen';

/** `at`: milliseconds since 1970, with fractions. */
export type Traffic =
  | { kind: 'opened'; at: number; connection: number }
  /** Connection to the server failed; the client sees a broken connection. */
  | { kind: 'refused'; at: number; connection: number; why: string }
  /**
   * Head of a request. `target`: path and query as received. `lacksHeaders`: headers of the request or its answer are
   * missing.
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
  | { kind: 'asked'; at: number; exchange: number; body?: Body }
  | { kind: 'response'; at: number; exchange: number; status: number; headers: Pairs }
  /** Block of an event stream, with its fields as received. */
  | { kind: 'frame'; at: number; exchange: number; fields: Pairs }
  /** `torn`: bytes of the incomplete block of an event stream. */
  | { kind: 'over'; at: number; exchange: number; ended: Ended; body?: Body; torn?: string }
  | { kind: 'closed'; at: number; connection: number }
  /** The rest of the connection is unknown. */
  | { kind: 'lost'; at: number; connection: number; why: string };

/** Text of a body; empty if there is none, undefined if it is incomplete. */
export const wholeText = (body: Body | undefined): string | undefined =>
  body === undefined ? '' : body.cut === undefined ? body.text : undefined;

export type TakeTraffic = (traffic: Traffic) => void;
