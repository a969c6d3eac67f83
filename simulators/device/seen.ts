/** Types of an agent's activity, which `watch.ts` reports and the page of the console shows. */
import type { Deployment } from '../../harness/contract/device-api.ts';

export interface SeenEvent {
  id: number;
  type: string;
  json: string;
}

export interface SeenFrame {
  /** Time in milliseconds since 1970. */
  at: number;
  id?: string;
  /** Value of the frame's `event` field; undefined for a comment. */
  type?: string;
  text: string;
  to: number[];
}

export interface SeenListener {
  client: string;
  since: number;
  after: number;
  types?: string[];
  frames: number;
  last?: string;
  /** Bytes that the agent has not yet sent to the listener. */
  waiting: number;
}

export interface SeenLog {
  earliest: number;
  latest: number;
  count: number;
  bytes: number;
}

export interface Seen {
  events: SeenEvent[];
  frames: SeenFrame[];
  listeners?: Record<string, SeenListener>;
  log?: SeenLog;
  current?: Deployment | null;
}

export interface Opened {
  client: string | undefined;
  after: number;
  types: ReadonlySet<string> | undefined;
}
