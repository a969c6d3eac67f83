/**
 * Decisions of the simulated device that have a legal or illegal alternative. `referenceBehaviour` is correct; a defect
 * or a legal variant (`simulators/defects/device`) replaces a few of them.
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

export interface Refusal {
  status: number;
  code: string;
  message: string;
  params?: Record<string, unknown>;
  headers?: Record<string, string>;
}

/** Sections 5 and 9. */
export interface TransportBehaviour {
  /** Sets the permissions of the socket at `path` before it appears in `folder`. */
  permit(path: string, mode: number, folder: string): void;
  readonly host: string;
  readonly backlog: number;
  /** Decides on a new connection beside `open` others. */
  accepts(open: number): boolean;
  /** Takes each connection before any byte of it. */
  connected(socket: Socket): void;
  discovery(file: DiscoveryFile): unknown;
  /** Decides on a request by its `Authorization` header; `token` is undefined on a transport without one. */
  authorized(header: string | undefined, token: string | undefined, transport: string): boolean;
}

/** Sections 4.1, 7 and 9. */
export interface HttpBehaviour {
  /** Takes a request over, before all other decisions, by returning true. */
  intercept(request: IncomingMessage, response: ServerResponse): boolean;
  delayMs(): number;
  /** Path below the version prefix; undefined outside the Device API. */
  route(path: string): string | undefined;
  refusal(refusal: Refusal, request: IncomingMessage): Refusal;
  /** A string becomes a plain text, undefined an empty body. */
  errorBody(refusal: Refusal): unknown;
  resource(value: unknown): unknown;
  /** Body of `GET /deployments/current`. */
  deploymentBody(deployment: Deployment): unknown;
  readonly jsonType: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Sections 4.1 and 6. */
export interface StreamBehaviour {
  chooseCursor(request: CursorRequest): number | 'none' | 'malformed';
  /** Id before the first event to send. */
  resolveCursor(cursor: number | 'none', retained: Retained): number | 'expired';
  parseTypes(values: readonly string[]): TypeFilter;
  wants(filter: TypeFilter, type: string, phase: 'replay' | 'live'): boolean;
  frame(event: StoredEvent): string;
  chunk(body: Buffer): Buffer;
  /** Text of a heartbeat; '' sends none. `idleMs`: longest time without a byte. */
  heartbeat(now: { latest: number; idleMs: number }): string;
  heartbeatMs(configured: number): number;
  readonly heartbeatAtOpen: boolean;
  readonly preamble: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Changes the events of one subscription; undefined shares encoded frames with other subscribers. */
  session(subscription: Subscription): Session | undefined;
  /** Calls `enter`, which makes a subscription live after its replay. */
  join(enter: () => void): void;
  recipients<S extends LiveSubscriber>(live: ReadonlySet<S>): Iterable<S>;
  /** Bytes waiting in a live subscriber's socket, above which it reads from the file again. */
  readonly liveBufferBytes: number;
  readonly eventPauseMs: number;
  /** Milliseconds of a stream's life; undefined for no end. */
  lifetimeMs(heartbeatMs: number): number | undefined;
}

export interface Subscription {
  after: number;
  filter: TypeFilter;
  retained: Retained;
}

export interface Session {
  /** Changes a portion of the replay before the filter. */
  replay?(events: readonly StoredEvent[]): readonly StoredEvent[];
  live?(events: readonly StoredEvent[]): readonly StoredEvent[];
}

export interface LiveSubscriber {
  readonly waiting: number;
}

/** Section 6.2. */
export interface LogBehaviour {
  readonly idStep: number;
  /** Most events kept, by default the number `configured` by the options. */
  retain(configured: number): number;
  readonly tellsRetention: boolean;
  /** Written form of a batch: a line for each event, with its line break. */
  lines(events: readonly StoredEvent[]): string;
  /** Highest assigned id of a log that ends with `last`. */
  highest(last: number, mark: Mark | undefined, damaged: boolean): number;
  /** Treatment of a log at the start: truncates a torn end, keeps it, or drops everything. */
  opening(torn: boolean): 'repair' | 'keep' | 'empty';
  /** Order in which a batch is stored, becomes readable and is delivered. Keep `commit` and `deliver` together. */
  publish(steps: { store(): Promise<void>; commit(): void; deliver(): void }): Promise<void>;
  /**
   * First id that a compaction keeps, for `ids` ids in steps of `step`; an id above `latest` keeps nothing.
   */
  keepFrom(plan: { earliest: number; latest: number; ids: number; step: number }): number;
}

/** Sections 2.1, 2.2, 2.4 and 6.3. */
export interface DeploymentBehaviour {
  mergeStatus(activity: DeploymentActivityStatus, error: DeploymentErrorStatus): DeploymentStatus;
  event(draft: EventDraft): EventDraft;
  occurredAt(timestamp: string): string;
  files(files: readonly ConfigFile[]): readonly ConfigFile[];
  /** Order in which a deployment's files reach their place and its event is published. */
  enter(steps: { place(): Promise<void>; publish(): Promise<void> }): Promise<void>;
  announce(events: readonly EventDraft[], change: DeploymentChange): readonly EventDraft[];
  /**
   * Fails a deployment with unwritable files. Otherwise the agent retries it for ever, like one without files, and has
   * no current deployment meanwhile.
   */
  readonly givesUp: boolean;
  readonly failedArchives: boolean;
  readonly removesFiles: boolean;
  readonly remembers: 'everything' | 'no removal' | 'nothing';
}

export type DeploymentChange =
  | { kind: 'entered'; deployment: Deployment; replaced: readonly Deployment[] }
  | { kind: 'archived'; deployment: Deployment };

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

/** Compares a bearer token (section 5); HTTP ignores the case of the scheme. */
function carriesToken(header: string | undefined, token: string): boolean {
  const [, given] = /^bearer +(\S+)$/i.exec(header ?? '') ?? [];
  // Compares digests, whose equal length makes the time constant.
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
}
