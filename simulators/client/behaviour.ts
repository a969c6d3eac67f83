/** Decisions of the reference client. A defect or a variant replaces some of them. */
import type { RetryHeaders } from '../../harness/common/durations.ts';
import type { CallJob, ClientValues } from '../../harness/contract/client.ts';

/** A block of the stream, as its fields say. */
export interface Block {
  /** The last event id after this block; empty when there never was one. */
  id: string;
  /** The event field; empty when there is none. */
  event: string;
  data: string;
}

/** The JSON of an event. */
export interface Envelope {
  id?: unknown;
  type?: unknown;
  data?: unknown;
}

/** Why the client is to connect again. */
export interface Interruption {
  /** Status of the answer; undefined when no whole one came. */
  status: number | undefined;
  /** Attempts since the last event, from 0. */
  attempt: number;
  /** From the retry field of the stream. */
  retryMs: number | undefined;
  /** From the header. */
  retryAfterMs: number | undefined;
}

/** Where a Device API on loopback TCP is, as its discovery file says. */
export interface Place {
  port: number;
  token: string;
}

/** How the bytes of a stream become blocks. */
export interface StreamBehaviour {
  /** Text of the next bytes. */
  decode(bytes: Buffer): string;
  /** Lines that are complete with this text. */
  lines(text: string): string[];
  /** A line as a field; undefined for a comment. */
  field(line: string): { name: string; value: string } | undefined;
  /** The data of a block from its lines. */
  join(lines: readonly string[]): string;
  /** Whether a block is handed on. */
  isDispatched(block: Block, lines: readonly string[]): boolean;
  /** The id that an id field gives; the one before it when it gives none. */
  idOf(value: string, before: string): string;
  /** Whether an id counts before its block is complete. */
  idAtOnce: boolean;
  /** Whether a block that the end of the stream cuts off is handed on. */
  atEnd: 'drop' | 'dispatch';
}

export interface FollowBehaviour {
  /** Path, query and headers of the request for the stream. */
  request(path: string, cursor: string | undefined): { path: string; headers: Record<string, string> };
  /** The part of the query that names the types which the caller wants; empty for all. */
  types(wanted: string | undefined): string;
  /** The envelope of a block; undefined for data that is none. A throw ends the client. */
  envelope(block: Block): Envelope | undefined;
  /** The type by which an event is dispatched; undefined when nobody takes it. */
  typeOf(envelope: Envelope, block: Block): string | undefined;
  /** What the caller is given as the id. */
  idOf(envelope: Envelope, block: Block): string | number;
  /** Whether an event that was dispatched is left out when it comes again. */
  deduplicates: boolean;
  /** Called for each block; the cursor from then on. */
  cursor(block: Block, before: string | undefined): string | undefined;
  /** Milliseconds until the next attempt; undefined to give up. */
  reconnect(why: Interruption): number | undefined;
  /** After 410: what the caller is told, and the cursor from then on. */
  expired(cursor: string | undefined): { told: boolean; cursor: string | undefined };
  /** Milliseconds without a byte after which the connection is taken for dead; undefined for never. */
  silenceMs(heartbeatSeconds: number): number | undefined;
  /** What is printed of an event. */
  show(line: Record<string, unknown>): string[];
  /** What the discovery file says; undefined for one that says nothing. A throw ends the client. */
  discover(read: () => string): Place | undefined;
  /** Headers that name the token; on a socket and at a bare URL there is none. */
  credentials(token: string | undefined): Record<string, string>;
  /** Headers of the request to another address, to which an answer leads; undefined to stay. */
  redirected(headers: Readonly<Record<string, string>>): Record<string, string> | undefined;
  /** Whether a stream of that media type is read. */
  reads(contentType: string): boolean;
}

/** A page of a list: as it is asked for, without what the client leaves to the platform. */
export interface PageAsked {
  limit: number | undefined;
  offset: number;
}

/** What a platform answers to it. */
export interface Page {
  limit: number;
  offset: number;
  has_more: boolean;
  data: readonly Readonly<Record<string, unknown>>[];
}

/** One answer, whole. */
export interface Answer {
  status: number;
  text: string;
}

/** Why a request may have to be sent again. `attempt` counts requests of the job before this one. */
export interface Refused extends Omit<Interruption, 'retryMs'> {
  job: CallJob;
}

/** What is written when a job fails, and the exit code. */
export interface Told {
  lines: readonly Readonly<Record<string, unknown>>[];
  /** For standard error. */
  complaint: string;
  code: number;
}

/** What a client may send to a platform and nobody else may see. */
export interface Access {
  key: string;
  version: string;
}

/** The jobs that end by themselves. */
export interface CallBehaviour {
  /** Headers of each request to a platform. */
  access(access: Access, job: CallJob): Record<string, string>;
  /** Path and query of a request. */
  address(path: string, access: Access, job: CallJob): string;
  /** Connections are kept for the next request. */
  keepsAlive: boolean;
  /** Headers of the request to another address, to which an answer leads; undefined to stay. */
  redirected(headers: Readonly<Record<string, string>>): Record<string, string> | undefined;
  /** Milliseconds to wait for an answer; `nanos` is what the platform was told to wait for a device. */
  answerMs(nanos: number | undefined): number;
  /** Milliseconds that an answer asks to wait; undefined where it names none. */
  askedToWait(headers: RetryHeaders): number | undefined;
  /** Milliseconds until the next attempt; undefined to give up. */
  retry(why: Refused): number | undefined;
  /** The value of an answer. Throws for one that has none. */
  value(answer: Answer, job: CallJob): unknown;
  /** What is told of what was thrown. `access` is what it was called with. */
  failed(error: unknown, access: Access): Told;
  /** Written to standard error before anything else. */
  greeting(access: Access): string;
  /** Limit of the first page. `wanted`: what the caller asks for. */
  limit(wanted: number | undefined): number | undefined;
  /** Query of a page. */
  query(asked: PageAsked): Record<string, string>;
  /** A page from an answer. Throws for one that is none. */
  page(value: unknown): Page;
  /** The pages that are asked for next, at once; none to end. `got` is the last page, as it came. */
  next(got: Page, asked: PageAsked): readonly PageAsked[];
  /** What is printed of a page. `seen` has the ids that were printed before. */
  items(page: Page, seen: ReadonlySet<unknown>): readonly unknown[];
}

/** Jobs of one request and one line; a list has pages. */
export type PlainJob = Exclude<CallJob, 'list'>;

export interface JobBehaviour {
  /** Requests that are sent for one call. */
  requests: number;
  /** Headers of a request, beside those of every one. */
  headers: Readonly<Record<string, string>>;
  /** Body of a request. `wanted`: what the caller asks for. Throws where it refuses that. */
  body(wanted: ClientValues): Record<string, unknown> | undefined;
  /** Members of the line that is printed of an answer. */
  shown(value: Readonly<Record<string, unknown>>): Record<string, unknown>;
}

/** An answer that is no result. */
export class CallFailed extends Error {
  override name = 'CallFailed';
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }
}

export interface ClientBehaviour {
  /** Made anew for each connection, since it remembers what came. */
  stream(): StreamBehaviour;
  follow: FollowBehaviour;
  calls: CallBehaviour;
  jobs: Readonly<Record<PlainJob, JobBehaviour>>;
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The JSON object in `text`; undefined when it holds none. */
export function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
