/** Decisions of the reference client, some of which a defect or a variant replaces. */
import type { RetryHeaders } from '../../harness/common/durations.ts';
import type { CallJob, ClientValues } from '../../harness/contract/client.ts';
import { jsonIn } from '../common/malformed.ts';

/** A block of the stream with its fields. */
export interface Block {
  /** Last event id after this block; empty before the first. */
  id: string;
  /** Event field; empty if absent. */
  event: string;
  data: string;
}

export interface Envelope {
  id?: unknown;
  type?: unknown;
  data?: unknown;
}

export interface Interruption {
  /** Status of the answer; undefined if none was complete. */
  status: number | undefined;
  /** Attempts since the last event, from 0. */
  attempt: number;
  /** Retry field of the stream. */
  retryMs: number | undefined;
  /** Retry-After header. */
  retryAfterMs: number | undefined;
}

/** Address of a Device API on loopback TCP, from its discovery file. */
export interface Place {
  port: number;
  token: string;
}

export interface StreamBehaviour {
  decode(bytes: Buffer): string;
  /** Lines completed by this text. */
  lines(text: string): string[];
  /** A line as a field; undefined for a comment. */
  field(line: string): { name: string; value: string } | undefined;
  join(lines: readonly string[]): string;
  /** Whether a block is dispatched. */
  isDispatched(block: Block, lines: readonly string[]): boolean;
  /** Id from an id field; the previous one if it gives none. */
  idOf(value: string, before: string): string;
  idAtOnce: boolean;
  /** Treatment of a block cut off by the end of the stream. */
  atEnd: 'drop' | 'dispatch';
}

export interface FollowBehaviour {
  /** Path, query and headers of the request for the stream. */
  request(path: string, cursor: string | undefined): { path: string; headers: Record<string, string> };
  /** Query that selects the caller's types; empty for all. */
  types(wanted: string | undefined): string;
  /** Envelope of a block; undefined for other data. A throw ends the client. */
  envelope(block: Block): Envelope | undefined;
  /** Type by which an event is dispatched; undefined if nothing handles it. */
  typeOf(envelope: Envelope, block: Block): string | undefined;
  idOf(envelope: Envelope, block: Block): string | number;
  /** Milliseconds for which events are queued; the end of their stream drops them. */
  handsOnAfterMs: number;
  /** Events of one stream after which the client leaves it, and asks again. */
  mostEvents: number;
  /** Whether repeated events are skipped. */
  deduplicates: boolean;
  /** Cursor after a block. */
  cursor(block: Block, before: string | undefined): string | undefined;
  /** Milliseconds until the next attempt; undefined to give up. */
  reconnect(why: Interruption): number | undefined;
  /** Reaction to a 410: whether the caller hears of it, and the next cursor. */
  expired(cursor: string | undefined): { told: boolean; cursor: string | undefined };
  /** Milliseconds without a byte after which the connection counts as dead; undefined for never. */
  silenceMs(heartbeatSeconds: number): number | undefined;
  show(line: Record<string, unknown>): string[];
  /** Address in the discovery file; undefined for a file without one. A throw ends the client. */
  discover(read: () => string): Place | undefined;
  /** Headers with the token; none on a socket and at a bare URL. */
  credentials(token: string | undefined): Record<string, string>;
  /** Headers of the request to the address of a redirect; undefined to stay. */
  redirected(headers: Readonly<Record<string, string>>): Record<string, string> | undefined;
  /** Whether a stream of that media type is read. */
  reads(contentType: string): boolean;
}

/** Parameters of a list page, without those left to the platform. */
export interface PageAsked {
  limit: number | undefined;
  offset: number;
}

export interface Page {
  limit: number;
  offset: number;
  has_more: boolean;
  data: readonly Readonly<Record<string, unknown>>[];
}

export interface Answer {
  status: number;
  text: string;
}

/** Reason for a retry. `attempt`: earlier requests of the job. */
export interface Refused extends Omit<Interruption, 'retryMs'> {
  job: CallJob;
}

/** Output of a failed job, and its exit code. */
export interface Told {
  lines: readonly Readonly<Record<string, unknown>>[];
  complaint: string;
  code: number;
}

/** Credentials that only the platform may see. */
export interface Access {
  key: string;
  version: string;
}

export interface CallBehaviour {
  access(access: Access, job: CallJob): Record<string, string>;
  address(path: string, access: Access, job: CallJob): string;
  keepsAlive: boolean;
  /** Headers of the request to the address of a redirect; undefined to stay. */
  redirected(headers: Readonly<Record<string, string>>): Record<string, string> | undefined;
  /** Milliseconds to wait for an answer; `nanos`: the platform's wait for a device. */
  answerMs(nanos: number | undefined): number;
  /** Delay that an answer asks for, milliseconds; undefined if none. */
  askedToWait(headers: RetryHeaders): number | undefined;
  /** Milliseconds until the next attempt; undefined to give up. */
  retry(why: Refused): number | undefined;
  /** Value of an answer. Throws if it has none. */
  value(answer: Answer, job: CallJob): unknown;
  failed(error: unknown, access: Access): Told;
  /** Written to standard error first. */
  greeting(access: Access): string;
  /** Limit of the first page. `wanted`: by the caller. */
  limit(wanted: number | undefined): number | undefined;
  query(asked: PageAsked): Record<string, string>;
  /** Page in an answer. Throws if there is none. */
  page(value: unknown): Page;
  /** Next pages, requested at once; empty to end. `got`: the last page. */
  next(got: Page, asked: PageAsked): readonly PageAsked[];
  /** Printed items of a page. `seen`: ids printed before. */
  items(page: Page, seen: ReadonlySet<unknown>): readonly unknown[];
}

/** Jobs of one request and one line; a list has pages. */
export type PlainJob = Exclude<CallJob, 'list'>;

export interface JobBehaviour {
  requests: number;
  /** Headers in addition to those of every request. */
  headers: Readonly<Record<string, string>>;
  /** Body of a request. `wanted`: by the caller. Throws if it refuses that. */
  body(wanted: ClientValues): Record<string, unknown> | undefined;
  shown(value: Readonly<Record<string, unknown>>): Record<string, unknown>;
}

/** The answer is not a result. */
export class CallFailed extends Error {
  override name = 'CallFailed';
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }
}

export interface ClientBehaviour {
  /** Creates one for each connection, because it has state. */
  stream(): StreamBehaviour;
  follow: FollowBehaviour;
  calls: CallBehaviour;
  jobs: Readonly<Record<PlainJob, JobBehaviour>>;
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** JSON object in `text`; undefined if there is none. */
export function objectIn(text: string): Record<string, unknown> | undefined {
  const value = jsonIn(text);
  return isObject(value) ? value : undefined;
}
