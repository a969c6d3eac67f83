/**
 * Every decision of the simulated device that could be taken differently, as small functions. `referenceBehaviour`
 * takes the correct ones; a defect or a legal variant (`simulators/defects/device`) replaces a few of them.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { chmodSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Deployment, DiscoveryFile } from '../../harness/contract/device-api.ts';
import type {
  DeploymentActivityStatus,
  DeploymentErrorStatus,
  DeploymentStatus,
} from '../../harness/contract/enums.ts';
import type { ErrorBody } from '../../harness/contract/lists.ts';
import { DEVICE_API_PREFIX } from '../../harness/contract/versions.ts';
import { highestGivenOut, type Mark } from './log/high-water-mark.ts';
import type { EventDraft, StoredEvent } from './log/line.ts';
import type { ConfigFile } from './ports.ts';
import {
  type CursorRequest,
  chooseCursor,
  chunk,
  frame,
  HEARTBEAT,
  parseTypes,
  type Retained,
  resolveCursor,
  type TypeFilter,
  wants,
} from './stream/protocol.ts';

export interface DeviceBehaviour {
  readonly transport: TransportBehaviour;
  readonly http: HttpBehaviour;
  readonly stream: StreamBehaviour;
  readonly log: LogBehaviour;
  readonly deployments: DeploymentBehaviour;
}

/** A request that is not granted, as the error answer says it. */
export interface Refusal {
  /** HTTP status. */
  status: number;
  code: string;
  message: string;
  params?: Record<string, unknown>;
  headers?: Record<string, string>;
}

/** Sections 5 and 9. */
export interface TransportBehaviour {
  /** Gives the socket at `path` its permissions, before it appears in `folder`. */
  permit(path: string, mode: number, folder: string): void;
  /** Address that the loopback transport binds to. */
  readonly host: string;
  /** Connections that may wait until they are taken. */
  readonly backlog: number;
  /** Whether one more connection is taken when `open` of them are open. */
  accepts(open: number): boolean;
  /** Sees each connection before anything is read from it or written to it. */
  connected(socket: Socket): void;
  /** Content of the discovery file. */
  discovery(file: DiscoveryFile): unknown;
  /**
   * Whether a request with this `Authorization` header may pass; `token` is undefined where the transport needs none.
   */
  authorized(header: string | undefined, token: string | undefined, transport: string): boolean;
}

/** Sections 4.1, 7 and 9. */
export interface HttpBehaviour {
  /** Sees every request first; true when it has taken the request over. */
  intercept(request: IncomingMessage, response: ServerResponse): boolean;
  /** Milliseconds by which the next answer is late. */
  delayMs(): number;
  /** The path below the version prefix, or undefined when this path is not the Device API's. */
  route(path: string): string | undefined;
  refusal(refusal: Refusal, request: IncomingMessage): Refusal;
  /** A string is sent as plain text, undefined as an empty body. */
  errorBody(refusal: Refusal): unknown;
  /** Any resource as it is shown. */
  resource(value: unknown): unknown;
  /** The deployment as `GET /deployments/current` shows it. */
  deploymentBody(deployment: Deployment): unknown;
  readonly jsonType: string;
  /** Headers of JSON answers. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Sections 4.1 and 6. */
export interface StreamBehaviour {
  chooseCursor(request: CursorRequest): number | 'none' | 'malformed';
  /** Events after the result are sent. */
  resolveCursor(cursor: number | 'none', retained: Retained): number | 'expired';
  parseTypes(values: readonly string[]): TypeFilter;
  wants(filter: TypeFilter, type: string, phase: 'replay' | 'live'): boolean;
  frame(event: StoredEvent): string;
  /** One or more HTTP chunks. */
  chunk(body: Buffer): Buffer;
  /** What a heartbeat sends; '' sends none. `idleMs` is how long, at most, nothing was sent. */
  heartbeat(now: { latest: number; idleMs: number }): string;
  heartbeatMs(configured: number): number;
  readonly heartbeatAtOpen: boolean;
  /** Sent before anything else. */
  readonly preamble: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Changes the events for this subscription alone; undefined shares encoded frames with the other subscribers. */
  session(subscription: Subscription): Session | undefined;
  /** Calls `enter`, which makes a subscription live that has read everything stored. */
  join(enter: () => void): void;
  /** The live subscribers that get a batch. */
  recipients<S extends LiveSubscriber>(live: ReadonlySet<S>): Iterable<S>;
  /** Bytes that may wait in a live subscriber's socket before it goes back to reading from the file. */
  readonly liveBufferBytes: number;
  /** Milliseconds between two events of a stream. */
  readonly eventPauseMs: number;
  /** Milliseconds after which a stream is ended; undefined: never. */
  lifetimeMs(heartbeatMs: number): number | undefined;
}

export interface Subscription {
  after: number;
  filter: TypeFilter;
  retained: Retained;
}

export interface Session {
  /** Events of a portion of the replay, before the filter. */
  replay?(events: readonly StoredEvent[]): readonly StoredEvent[];
  live?(events: readonly StoredEvent[]): readonly StoredEvent[];
}

/** What `recipients` may know of a subscriber. */
export interface LiveSubscriber {
  /** Bytes that it has not taken yet. */
  readonly waiting: number;
}

/** Section 6.2. */
export interface LogBehaviour {
  /** How far apart ids are. */
  readonly idStep: number;
  /** Events kept at most; `configured` is what the options say. */
  retain(configured: number): number;
  /** Whether the control API names that number. */
  readonly tellsRetention: boolean;
  /** A batch as it is written: one line for each event, each with its line break. */
  lines(events: readonly StoredEvent[]): string;
  /** Highest id that counts as assigned when the log ends with `last`. */
  highest(last: number, mark: Mark | undefined, damaged: boolean): number;
  /** What happens to the log at a start: a torn end is cut off, the end is kept as it is, or everything is dropped. */
  opening(torn: boolean): 'repair' | 'keep' | 'empty';
  /**
   * The order in which a batch is stored, becomes readable, and is delivered. `commit` and `deliver` belong together.
   */
  publish(steps: { store(): Promise<void>; commit(): void; deliver(): void }): Promise<void>;
  /** First id that a compaction keeps, of `ids` that it wants to keep; above `latest`, nothing is kept. */
  keepFrom(plan: { earliest: number; latest: number; ids: number }): number;
}

/** Sections 2.1, 2.2, 2.4 and 6.3. */
export interface DeploymentBehaviour {
  /** The merge rule (section 2.2). */
  mergeStatus(activity: DeploymentActivityStatus, error: DeploymentErrorStatus): DeploymentStatus;
  /** An event as it is appended to the log. */
  event(draft: EventDraft): EventDraft;
  occurredAt(timestamp: string): string;
  /** Config files as they are written. */
  files(files: readonly ConfigFile[]): readonly ConfigFile[];
  /** The order in which the files of a deployment are put in place and its event is published. */
  enter(steps: { place(): Promise<void>; publish(): Promise<void> }): Promise<void>;
  /** The events that announce a change. */
  announce(events: readonly EventDraft[], change: DeploymentChange): readonly EventDraft[];
  /**
   * Whether files that can never be written end a deployment. Otherwise it is retried for ever, one without files too,
   * and no deployment is current meanwhile.
   */
  readonly givesUp: boolean;
  /** Whether `failed` archives and removes. */
  readonly failedArchives: boolean;
  /** Whether the files of a removed deployment leave the disk. */
  readonly removesFiles: boolean;
  /** What is known of deployments after a restart. */
  readonly remembers: 'everything' | 'no removal' | 'nothing';
}

/** A change of a deployment: it `entered` a state, or it was `archived`. */
export type DeploymentChange =
  | { kind: 'entered'; deployment: Deployment; replaced: readonly Deployment[] }
  | { kind: 'archived'; deployment: Deployment };

/** The behaviour that the specification asks for. */
export const referenceBehaviour: DeviceBehaviour = {
  transport: {
    permit: (path, mode) => chmodSync(path, mode),
    host: '127.0.0.1',
    backlog: 4_096,
    accepts: () => true,
    connected: () => {},
    discovery: (file) => file,
    authorized: (header, token) => token === undefined || carriesToken(header, token),
  },
  http: {
    intercept: () => false,
    delayMs: () => 0,
    route: (path) => (path.startsWith(`${DEVICE_API_PREFIX}/`) ? path.slice(DEVICE_API_PREFIX.length) : undefined),
    refusal: (refusal) => refusal,
    errorBody: ({ code, message, params = {} }): ErrorBody => ({ error: { code, params, message } }),
    resource: (value) => value,
    deploymentBody: (deployment) => deployment,
    jsonType: 'application/json',
    headers: { 'Cache-Control': 'no-store' },
  },
  stream: {
    chooseCursor,
    resolveCursor,
    parseTypes,
    wants,
    frame,
    chunk,
    heartbeat: () => HEARTBEAT,
    heartbeatMs: (configured) => configured,
    heartbeatAtOpen: true,
    preamble: '',
    headers: { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' },
    session: () => undefined,
    join: (enter) => enter(),
    recipients: (live) => live,
    liveBufferBytes: 262_144,
    eventPauseMs: 0,
    lifetimeMs: () => undefined,
  },
  log: {
    idStep: 1,
    retain: (configured) => configured,
    tellsRetention: true,
    lines: (events) => events.map(({ json }) => `${json}\n`).join(''),
    highest: highestGivenOut,
    opening: () => 'repair',
    publish: async ({ store, commit, deliver }) => {
      await store();
      commit();
      deliver();
    },
    keepFrom: ({ latest, ids }) => latest - ids + 1,
  },
  deployments: {
    mergeStatus: (activity, error) => (error === 'none' ? activity : error),
    event: (draft) => draft,
    occurredAt: (timestamp) => timestamp,
    enter: async ({ place, publish }) => {
      await place();
      await publish();
    },
    announce: (events) => events,
    files: (files) => files,
    givesUp: true,
    failedArchives: true,
    removesFiles: true,
    remembers: 'everything',
  },
};

/**
 * Whether an `Authorization` header carries this bearer token (section 5). HTTP ignores the case of the scheme's name.
 */
function carriesToken(header: string | undefined, token: string): boolean {
  const [, given] = /^bearer +(\S+)$/i.exec(header ?? '') ?? [];
  // Digests have one length, so the comparison takes the same time whatever the two texts have in common.
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
}
