/** Decisions of the reference client as functions, so that a planted defect can replace a single decision. */
import type { RetryHeaders } from '../../harness/common/units.ts';
import type { CallJob, ClientValues } from '../../harness/contract/client.ts';

export interface Block {
  /** Last event id of the stream after this block; empty until the server sends an id. */
  id: string;
  event: string;
  data: string;
}

export interface Envelope {
  id?: unknown;
  type?: unknown;
  data?: unknown;
}

export interface Interruption {
  status: number | undefined;
  /** Number of consecutive attempts that brought no event. */
  attempt: number;
  retryMs: number | undefined;
  retryAfterMs: number | undefined;
}

/** Address of a Device API on loopback TCP, and its token. */
export interface Place {
  port: number;
  token: string;
}

export interface StreamBehaviour {
  decode(bytes: Buffer): string;
  lines(text: string): string[];
  field(line: string): { name: string; value: string } | undefined;
  join(lines: readonly string[]): string;
  isDispatched(block: Block, lines: readonly string[]): boolean;
  idOf(value: string, before: string): string;
  idAtOnce: boolean;
  /** Treatment of an incomplete block at the end of the stream. */
  atEnd: 'drop' | 'dispatch';
}

export interface FollowBehaviour {
  request(path: string, cursor: string | undefined): { path: string; headers: Record<string, string> };
  types(wanted: string | undefined): string;
  /** Reads the event in a block; returns undefined to skip the event, and throws to end the client. */
  envelope(block: Block): Envelope | undefined;
  typeOf(envelope: Envelope, block: Block): string | undefined;
  idOf(envelope: Envelope, block: Block): string | number;
  /** Milliseconds between reading and printing an event; an event is lost if its stream ends earlier. */
  handsOnAfterMs: number;
  /** Number of events after which the client opens a new stream. */
  mostEvents: number;
  deduplicates: boolean;
  cursor(block: Block, before: string | undefined): string | undefined;
  /** Milliseconds until the client reconnects; undefined to give up. */
  reconnect(why: Interruption): number | undefined;
  /** Reaction to status 410. `told`: whether the client prints the loss; `cursor`: start of the next stream. */
  expired(cursor: string | undefined): { told: boolean; cursor: string | undefined };
  /** Milliseconds without a byte after which the client reconnects; undefined for no limit. */
  silenceMs(heartbeatSeconds: number): number | undefined;
  show(line: Record<string, unknown>): string[];
  /** Reads the discovery file; returns undefined if the file has no address, and throws to end the client. */
  discover(read: () => string): Place | undefined;
  credentials(token: string | undefined): Record<string, string>;
  /** Headers of the request that follows a redirect; undefined to ignore redirects. */
  redirected(headers: Readonly<Record<string, string>>): Record<string, string> | undefined;
  reads(contentType: string): boolean;
}

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

export interface Refused extends Omit<Interruption, 'retryMs'> {
  job: CallJob;
}

/** Output of a failed job: `lines` on stdout, `complaint` on stderr. */
export interface FailedJobOutput {
  lines: readonly Readonly<Record<string, unknown>>[];
  complaint: string;
  code: number;
}

export interface Access {
  key: string;
  version: string;
}

export interface CallBehaviour {
  access(access: Access, job: CallJob): Record<string, string>;
  address(path: string, access: Access, job: CallJob): string;
  keepsAlive: boolean;
  redirected(headers: Readonly<Record<string, string>>): Record<string, string> | undefined;
  /** Maximum milliseconds to wait for an answer. `nanos`: nanoseconds that a ping allows the device. */
  answerMs(nanos: number | undefined): number;
  /** Milliseconds to wait before a retry, by the headers of an answer. */
  askedToWait(headers: RetryHeaders): number | undefined;
  /** Milliseconds until the next attempt; undefined to give up. */
  retry(why: Refused): number | undefined;
  /** Reads the result in an answer; throws CallFailed for an error status or a malformed body. */
  value(answer: Answer, job: CallJob): unknown;
  failed(error: unknown, access: Access): FailedJobOutput;
  greeting(access: Access): string;
  limit(wanted: number | undefined): number | undefined;
  query(asked: PageAsked): Record<string, string>;
  /** Reads a page; throws CallFailed for a malformed page. */
  page(value: unknown): Page;
  /** Pages to request next, in parallel; an empty list ends the job. */
  next(got: Page, asked: PageAsked): readonly PageAsked[];
  items(page: Page, seen: ReadonlySet<unknown>): readonly unknown[];
}

export type PlainJob = Exclude<CallJob, 'list'>;

export interface JobBehaviour {
  requests: number;
  headers: Readonly<Record<string, string>>;
  /** Body of a job's request; throws for values that the client refuses to send. */
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
  /** Creates the parser for one stream; every stream needs a new parser, which keeps state. */
  stream(): StreamBehaviour;
  follow: FollowBehaviour;
  calls: CallBehaviour;
  jobs: Readonly<Record<PlainJob, JobBehaviour>>;
}
