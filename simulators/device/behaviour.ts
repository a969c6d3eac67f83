/** Replaceable decisions of the simulated device; each defect replaces a few of the correct `referenceBehaviour`. */
import { hash, timingSafeEqual } from 'node:crypto';
import { chmodSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Deployment, DiscoveryFile } from '../../harness/contract/device-api.ts';
import type { ErrorBody } from '../../harness/contract/lists.ts';
import { DEVICE_API_PREFIX } from '../../harness/contract/versions.ts';
import { highestGivenOut, type Mark } from './log/high-water-mark.ts';
import type { EventDraft, StoredEvent } from './log/line.ts';
import type { ConfigFile } from './ports.ts';

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

/** Connections and authentication (sections 5 and 9 of the specification). */
export interface TransportBehaviour {
  /** Sets the permissions of a socket file before clients can find the file. */
  permit(path: string, mode: number, folder: string): void;
  readonly host: string;
  readonly backlog: number;
  /** `open`: number of connections already open. */
  accepts(open: number): boolean;
  /** Runs before the device reads the first byte of a new connection. */
  connected(socket: Socket): void;
  discovery(file: DiscoveryFile): unknown;
  /** `token`: expected token; undefined on a transport without tokens. */
  authorized(header: string | undefined, token: string | undefined, transport: string): boolean;
}

/** Requests and responses (sections 4.1, 7 and 9 of the specification). */
export interface HttpBehaviour {
  /** Returns false to leave the request to the normal handler. */
  intercept(request: IncomingMessage, response: ServerResponse): boolean;
  delayMs(): number;
  route(path: string): string | undefined;
  refusal(refusal: Refusal, request: IncomingMessage): Refusal;
  /** Body of an error response; a string becomes plain text, undefined an empty body. */
  errorBody(refusal: Refusal): unknown;
  resource(value: unknown): unknown;
  deploymentBody(deployment: Deployment): unknown;
  readonly jsonType: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Event streams (sections 4.1 and 6 of the specification). */
export interface StreamBehaviour {
  chooseCursor(request: CursorRequest): number | 'none' | 'malformed';
  resolveCursor(cursor: number | 'none', retained: Retained): number | 'expired';
  parseTypes(values: readonly string[]): TypeFilter;
  wants(filter: TypeFilter, type: string, phase: 'replay' | 'live'): boolean;
  frame(event: StoredEvent): string;
  chunk(body: Buffer): Buffer;
  /** Text of a heartbeat, '' for none. `idleMs`: milliseconds since the last sent byte. */
  heartbeat(now: { latest: number; idleMs: number }): string;
  heartbeatMs(configured: number): number;
  readonly heartbeatAtOpen: boolean;
  readonly preamble: string;
  readonly headers: Readonly<Record<string, string>>;
  session(subscription: Subscription): Session | undefined;
  /** Calls `enter` to switch a subscription from replayed to live events. */
  join(enter: () => void): void;
  recipients<S extends LiveSubscriber>(live: ReadonlySet<S>): Iterable<S>;
  /** Maximum unsent bytes; beyond, a live subscriber reads events from the log file. */
  readonly liveBufferBytes: number;
  readonly eventPauseMs: number;
  /** Milliseconds until the device ends a stream; undefined for no limit. */
  lifetimeMs(heartbeatMs: number): number | undefined;
}

export interface Subscription {
  after: number;
  filter: TypeFilter;
  retained: Retained;
}

export interface Session {
  /** Changes replayed events before the type filter applies. */
  replay?(events: readonly StoredEvent[]): readonly StoredEvent[];
  live?(events: readonly StoredEvent[]): readonly StoredEvent[];
}

export interface LiveSubscriber {
  readonly waiting: number;
}

/** Event log (section 6.2 of the specification). */
export interface LogBehaviour {
  readonly idStep: number;
  retain(configured: number): number;
  readonly tellsRetention: boolean;
  lines(events: readonly StoredEvent[]): string;
  /** Highest id ever assigned. `last`: id of the last readable event in the log. */
  highest(last: number, mark: Mark | undefined, damaged: boolean): number;
  /** `torn`: the log ends with an incomplete line, which `repair` removes. */
  opening(torn: boolean): 'repair' | 'keep' | 'empty';
  /** `deliver` must follow `commit` in the same tick of the event loop. */
  publish(steps: { store(): Promise<void>; commit(): void; deliver(): void }): Promise<void>;
  /** Lowest id that a compaction keeps; an id above `latest` removes all events. */
  keepFrom(plan: { earliest: number; latest: number; ids: number; step: number }): number;
}

/** Deployments (sections 2.1, 2.2, 2.4 and 6.3 of the specification). */
export interface DeploymentBehaviour {
  mergeStatus(activity: Deployment['activity_status'], error: Deployment['error_status']): Deployment['status'];
  event(draft: EventDraft): EventDraft;
  occurredAt(timestamp: string): string;
  files(files: readonly ConfigFile[]): readonly ConfigFile[];
  enter(steps: { place(): Promise<void>; publish(): Promise<void> }): Promise<void>;
  announce(events: readonly EventDraft[], change: DeploymentChange): readonly EventDraft[];
  /** True gives up after a fatal error; false retries after every error. */
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
    wants: (filter, type) => filter === undefined || filter.has(type),
    frame,
    chunk,
    heartbeat: () => ': heartbeat\n\n',
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

/** True for a header with the token (section 5 of the specification); HTTP ignores the case of `Bearer`. */
function carriesToken(header: string | undefined, token: string): boolean {
  const [, given] = /^bearer +(\S+)$/i.exec(header ?? '') ?? [];
  // Digests have equal lengths, which `timingSafeEqual` requires.
  const digest = (text: string) => hash('sha256', text, 'buffer');
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
}

export interface CursorRequest {
  after: readonly string[];
  lastEventId: string | undefined;
}

/** Largest event id, a signed 64-bit integer. */
const LARGEST = 2n ** 63n - 1n;

/**
 * Cursor of a request (section 4.1 of the specification); `after` overrides `Last-Event-ID`. An unsafe integer becomes
 * the largest safe integer, which exceeds every assigned id.
 */
function chooseCursor({ after, lastEventId }: CursorRequest): number | 'none' | 'malformed' {
  const [first, ...others] = after;
  const text = first ?? lastEventId;
  if (text === undefined) return 'none';
  if (others.some((other) => other !== first)) return 'malformed';
  if (!/^(0|[1-9]\d{0,18})$/.test(text) || BigInt(text) > LARGEST) return 'malformed';
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

export interface Retained {
  /** Id of the first retained event, or the next id of an empty log. */
  earliest: number;
  latest: number;
}

/** A cursor beyond the newest event, e.g. from a different robot, receives only live events. */
export function resolveCursor(cursor: number | 'none', { earliest, latest }: Retained): number | 'expired' {
  if (cursor === 'none') return latest;
  if (cursor < earliest - 1) return 'expired';
  return Math.min(cursor, latest);
}

export type TypeFilter = ReadonlySet<string> | undefined;

/** An empty parameter (`types=`) matches no event type. */
function parseTypes(values: readonly string[]): TypeFilter {
  if (values.length === 0) return undefined;
  const names = values.flatMap((value) => value.split(',')).map((name) => name.trim());
  return new Set(names.filter((name) => name !== ''));
}

export function frame({ id, type, json }: StoredEvent): string {
  return `id: ${id}\nevent: ${type}\ndata: ${json}\n\n`;
}

const CRLF = Buffer.from('\r\n');
export const LAST_CHUNK = Buffer.from('0\r\n\r\n');

export function chunk(body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, CRLF]);
}
