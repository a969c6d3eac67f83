/** Types of observed traffic between clients and a server, for recordings and rules. */
import type { Pairs } from '../common/http-parser.ts';

export interface Body {
  readonly text?: string;
  readonly base64?: string;
  readonly size: number;
  /** Set if only the beginning of the body is kept; the hash covers the whole body. */
  readonly cut?: { readonly sha256: string };
}

/**
 * End of an exchange. `server`, `client`: side that broke off, e.g. a client that leaves an event stream; `unseen`:
 * unknown end.
 */
export type Ended = 'whole' | 'server' | 'client' | 'unseen';

/** Step of observed traffic; `at`: milliseconds since 1970, with fractions. */
export type Traffic =
  | { kind: 'opened'; at: number; connection: number }
  | { kind: 'refused'; at: number; connection: number; why: string }
  /**
   * `target`: path and query as received; `lacksHeaders`: the recording lacks headers of the request or of its answer.
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
  | { kind: 'frame'; at: number; exchange: number; fields: Pairs }
  | { kind: 'over'; at: number; exchange: number; ended: Ended; body?: Body; torn?: string }
  | { kind: 'closed'; at: number; connection: number }
  | { kind: 'lost'; at: number; connection: number; why: string };

export const wholeText = (body: Body | undefined): string | undefined =>
  body === undefined ? '' : body.cut === undefined ? body.text : undefined;

export type TakeTraffic = (traffic: Traffic) => void;
