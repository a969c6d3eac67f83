import type { Deed } from '../document.ts';

export type { Deed };

export interface FindingLine {
  id: string;
  /** Milliseconds since 1970. */
  at: number;
  level: string;
  section: string;
  side: 'server' | 'client';
  requirement: string;
  expected: string;
  actual: string;
  /** Number of cases that the rule has examined so far. */
  looked: number;
  exchanges: { headline: string; lines: string[]; curl: string }[];
  /** Ids of findings that may be consequences of this finding. */
  followers: string[];
}

export interface WatchDocument {
  api: 'device' | 'platform';
  /** Address for clients; the proxy passes their traffic to `server`. */
  clients: string;
  server: string;
  began: number;
  /** Reason that the server is out of reach; null while it answers. */
  unreachable: string | null;
  connections: { open: number; all: number };
  /** Bytes sent by each side. */
  bytes: { client: number; server: number };
  exchanges: number;
  events: number;
  rules: { decided: number; all: number };
  /** Reason that judging has stopped; null while it runs. */
  ended: string | null;
  /** Reasons for unjudged traffic, with counts. */
  notJudged: string[];
  /** One finding for each cause, oldest first. */
  findings: FindingLine[];
  deeds: Deed[];
}
