/**
 * What somebody who looks at an agent sees of it; `watch.ts` tells it. Only types: the page of the console has them
 * too.
 */
import type { Deployment } from '../../harness/contract/device-api.ts';

/** An event that is in the log, or was. */
export interface SeenEvent {
  id: number;
  type: string;
  /** The envelope as JSON. */
  json: string;
}

/** A frame that was sent: an event or a comment, to those who listened. */
export interface SeenFrame {
  /** Milliseconds since 1970. */
  at: number;
  /** Value of its `id` field. */
  id?: string;
  /** Value of its `event` field; undefined for a comment. */
  type?: string;
  /** The frame as it was written. */
  text: string;
  /** Numbers of the listeners that got it. */
  to: number[];
}

/** An open event stream. */
export interface SeenListener {
  /** `User-Agent` of the client. */
  client: string;
  /** Milliseconds since 1970. */
  since: number;
  /** The cursor it began with. */
  after: number;
  /** The event types it wants; undefined: all. */
  types?: string[];
  frames: number;
  /** Id of the last event that was written to it. */
  last?: string;
  /** Bytes that its client has not taken yet. */
  waiting: number;
}

export interface SeenLog {
  earliest: number;
  latest: number;
  count: number;
  bytes: number;
}

/** What has happened since the last time. */
export interface Seen {
  events: SeenEvent[];
  frames: SeenFrame[];
  /** By number; all that are open. Left out when nothing changed. */
  listeners?: Record<string, SeenListener>;
  log?: SeenLog;
  /** The deployment that is shown as current; null: none. */
  current?: Deployment | null;
}

/** The subscription of a client, as it was accepted. */
export interface Opened {
  client: string | undefined;
  after: number;
  types: ReadonlySet<string> | undefined;
}
