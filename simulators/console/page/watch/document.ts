/** What the console shows of traffic that is watched. */
import type { Deed } from '../document.ts';

export type { Deed };

/** An exchange between a client and the server. */
export interface ExchangeLine {
  exchange: number;
  /** Milliseconds since 1970. */
  at: number;
  ms: number;
  method: string;
  url: string;
  /** As the client calls itself. */
  client: string;
  /** Null as long as there is none. */
  status: number | null;
  events: number;
  /** Null while it is under way. */
  ended: 'whole' | 'server' | 'client' | 'unseen' | null;
}

/** A requirement that does not hold. */
export interface FindingLine {
  id: string;
  /** Milliseconds since 1970. */
  at: number;
  level: string;
  section: string;
  side: 'server' | 'client';
  /** The requirement in words. */
  requirement: string;
  expected: string;
  actual: string;
  /** How often the rule had something to look at, this one included. */
  looked: number;
  exchanges: { headline: string; lines: string[]; curl: string }[];
  /** Ids of findings that may follow from this one. */
  followers: string[];
}

export interface WatchDocument {
  api: 'device' | 'platform';
  /** Where clients come, and where the server is. */
  clients: string;
  server: string;
  began: number;
  /** Why the server cannot be reached; null while it can be, as far as anybody has tried. */
  unreachable: string | null;
  connections: { open: number; all: number };
  /** Bytes that each side has sent. */
  bytes: { client: number; server: number };
  exchanges: number;
  events: number;
  rules: { decided: number; all: number };
  /** Why nothing is judged any more; null as long as it is. */
  ended: string | null;
  /** Reasons why some of it was not judged, with how often. */
  notJudged: string[];
  /** Exchanges that are under way: how many, the oldest of them, and the last ones that have ended. */
  underWay: number;
  open: ExchangeLine[];
  over: ExchangeLine[];
  /** One for each cause, in the order in which they came. */
  findings: FindingLine[];
  deeds: Deed[];
}
