import type { Deed } from '../document.ts';

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
  /** Number of cases that the rule had examined at the time of the finding. */
  looked: number;
  exchanges: { headline: string; lines: string[]; curl: string }[];
  /** Ids of findings that may be consequences of this one. */
  followers: string[];
}

export interface WatchDocument {
  api: 'device' | 'platform';
  /** Address for clients, whose traffic the watch passes to `server`. */
  clients: string;
  server: string;
  began: number;
  unreachable: string | null;
  connections: { open: number; all: number };
  bytes: { client: number; server: number };
  exchanges: number;
  events: number;
  rules: { decided: number; all: number };
  ended: string | null;
  notJudged: string[];
  /** Leading findings, one for each cause, oldest first. */
  findings: FindingLine[];
  deeds: Deed[];
}
