/** Decisions of the reference client, of which defects and variants replace some. */
import type { RetryHeaders } from '../../harness/common/durations.ts';
import type { CallJob, ClientValues } from '../../harness/contract/client.ts';
import { jsonIn } from '../common/malformed.ts';

export interface Block {
  /** Last event id after this block; empty before the first id. */
  id: string;
  /** Value of the event field; empty without one. */
  event: string;
  data: string;
}

export interface Envelope {
  id?: unknown;
  type?: unknown;
  data?: unknown;
}

export interface Interruption {
  /** Status of the answer; undefined without a whole one. */
  status: number | undefined;
  /** Attempts since the last event, from 0. */
  attempt: number;
  retryMs: number | undefined;
  retryAfterMs: number | undefined;
}

/** Address of a Device API on loopback TCP, from its discovery file. */
export interface Place {
  port: number;
  token: string;
}

export interface StreamBehaviour {
  decode(bytes: Buffer): string;
  lines(text: string): string[];
  /** Field in a line; undefined for a comment. */
  field(line: string): { name: string; value: string } | undefined;
  join(lines: readonly string[]): string;
  isDispatched(block: Block, lines: readonly string[]): boolean;
  /** Id from the value of an id field; `before` if it gives none. */
  idOf(value: string, before: string): string;
  idAtOnce: boolean;
  /** Treatment of a block that the end of the stream cuts off. */
  atEnd: 'drop' | 'dispatch';
}

export interface FollowBehaviour {
  request(path: string, cursor: string | undefined): { path: string; headers: Record<string, string> };
  /** Query that selects the caller's types; empty for all. */
  types(wanted: string | undefined): string;
  /** Envelope of a block; undefined for other data. Ends the client by throwing. */
  envelope(block: Block): Envelope | undefined;
  /** Type by which an event is dispatched; undefined for an unhandled event. */
  typeOf(envelope: Envelope, block: Block): string | undefined;
  idOf(envelope: Envelope, block: Block): string | number;
  /** Milliseconds in which events are queued, and lost if their stream ends. */
  handsOnAfterMs: number;
  /** Events of one stream after which the client leaves it for another. */
  mostEvents: number;
  /** Skips repeated events. */
  deduplicates: boolean;
  cursor(block: Block, before: string | undefined): string | undefined;
  /** Milliseconds until the next attempt; undefined to give up. */
  reconnect(why: Interruption): number | undefined;
  /** Reaction to a 410. `told`: whether the caller hears of it; `cursor`: the next one. */
  expired(cursor: string | undefined): { told: boolean; cursor: string | undefined };
  /** Milliseconds without a byte that make a connection dead; undefined for never. */
  silenceMs(heartbeatSeconds: number): number | undefined;
  show(line: Record<string, unknown>): string[];
  /** Address in the discovery file; undefined for a file without one. Ends the client by throwing. */
  discover(read: () => string): Place | undefined;
  /** Headers with the token; none on a socket and at a bare URL. */
  credentials(token: string | undefined): Record<string, string>;
  /** Headers of the request that follows a redirect; undefined to ignore redirects. */
  redirected(headers: Readonly<Record<string, string>>): Record<string, string> | undefined;
  /** Accepts the media type of a stream. */
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

/** `attempt`: number of earlier requests of the job. */
export interface Refused extends Omit<Interruption, 'retryMs'> {
  job: CallJob;
}

/** Output of a failed job, and its exit code. */
export interface Told {
  lines: readonly Readonly<Record<string, unknown>>[];
  complaint: string;
  code: number;
}

/** Credentials for the platform alone. */
export interface Access {
  key: string;
  version: string;
}

export interface CallBehaviour {
  access(access: Access, job: CallJob): Record<string, string>;
  address(path: string, access: Access, job: CallJob): string;
  keepsAlive: boolean;
  /** Headers of the request that follows a redirect; undefined to ignore redirects. */
  redirected(headers: Readonly<Record<string, string>>): Record<string, string> | undefined;
  /** Milliseconds to wait for an answer. `nanos`: wait of the platform for a device. */
  answerMs(nanos: number | undefined): number;
  /** Delay that an answer asks for, milliseconds. */
  askedToWait(headers: RetryHeaders): number | undefined;
  /** Milliseconds until the next attempt; undefined to give up. */
  retry(why: Refused): number | undefined;
  /** Throws for an answer without a value. */
  value(answer: Answer, job: CallJob): unknown;
  failed(error: unknown, access: Access): Told;
  /** First text on standard error. */
  greeting(access: Access): string;
  /** Limit of the first page. `wanted`: that of the caller. */
  limit(wanted: number | undefined): number | undefined;
  query(asked: PageAsked): Record<string, string>;
  /** Throws for an answer without a page. */
  page(value: unknown): Page;
  /** Next pages, requested at once; empty to end. `got`: the last page. */
  next(got: Page, asked: PageAsked): readonly PageAsked[];
  /** Items of a page to print. `seen`: ids printed before. */
  items(page: Page, seen: ReadonlySet<unknown>): readonly unknown[];
}

/** Jobs of one request and one line, unlike a list with its pages. */
export type PlainJob = Exclude<CallJob, 'list'>;

export interface JobBehaviour {
  requests: number;
  /** Headers beside those of every request. */
  headers: Readonly<Record<string, string>>;
  /** Body of a request from the caller's values. Throws for values that it refuses. */
  body(wanted: ClientValues): Record<string, unknown> | undefined;
  shown(value: Readonly<Record<string, unknown>>): Record<string, unknown>;
}

export class CallFailed extends Error {
  override name = 'CallFailed';
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }
}

export interface ClientBehaviour {
  /** Creates decisions with a state, for one connection. */
  stream(): StreamBehaviour;
  follow: FollowBehaviour;
  calls: CallBehaviour;
  jobs: Readonly<Record<PlainJob, JobBehaviour>>;
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function objectIn(text: string): Record<string, unknown> | undefined {
  const value = jsonIn(text);
  return isObject(value) ? value : undefined;
}
