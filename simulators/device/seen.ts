/** Types of an agent's activity as reported by `watch.ts`; shared with the page of the console. */
import type { Deployment } from '../../harness/contract/device-api.ts';

export interface SeenEvent {
  id: number;
  type: string;
  json: string;
}

export interface SeenFrame {
  /** Milliseconds since 1970. */
  at: number;
  id?: string;
  /** Value of its `event` field; undefined for a comment. */
  type?: string;
  text: string;
  to: number[];
}

export interface SeenListener {
  client: string;
  since: number;
  after: number;
  /** Event types of its filter; undefined: all. */
  types?: string[];
  frames: number;
  last?: string;
  /** Bytes not yet taken by its client. */
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
  /** All open listeners by number; absent if nothing changed. */
  listeners?: Record<string, SeenListener>;
  log?: SeenLog;
  /** Current deployment; null: none. */
  current?: Deployment | null;
}

export interface Opened {
  client: string | undefined;
  after: number;
  types: ReadonlySet<string> | undefined;
}
