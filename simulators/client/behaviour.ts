/** Decisions of the reference client as functions, each of which a planted defect can replace. */
import type { RetryHeaders } from '../../harness/common/units.ts';
import type { CallJob, ClientValues } from '../../harness/contract/client.ts';

export interface Block {
  /** Last event id after this block; empty until the server sends one. */
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
  /** Number of consecutive attempts without an event; for a call, number of earlier attempts. */
  attempt: number;
  retryMs: number | undefined;
  retryAfterMs: number | undefined;
}

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
  atEnd: 'drop' | 'dispatch';
}

export interface FollowBehaviour {
  request(path: string, cursor: string | undefined): { path: string; headers: Record<string, string> };
  types(wanted: string | undefined): string;
  /** Envelope of an event; undefined skips the event, an error ends the client. */
  envelope(block: Block): Envelope | undefined;
  typeOf(envelope: Envelope, block: Block): string | undefined;
  idOf(envelope: Envelope, block: Block): string | number;
  /** Milliseconds between reading an event and printing it; the event is lost if its stream ends first. */
  handsOnAfterMs: number;
  /** Number of events after which the client leaves a stream and opens the next stream. */
  mostEvents: number;
  deduplicates: boolean;
  cursor(block: Block, before: string | undefined): string | undefined;
  /** Milliseconds until the next attempt; undefined gives up. */
  reconnect(why: Interruption): number | undefined;
  /** Reaction to status 410. `told`: the client prints the loss; `cursor`: start of the next stream. */
  expired(cursor: string | undefined): { told: boolean; cursor: string | undefined };
  /** Milliseconds without a byte before a reconnection; undefined for no limit. */
  silenceMs(heartbeatSeconds: number): number | undefined;
  show(line: Record<string, unknown>): string[];
  /** Address in the discovery file; undefined if the file has none, an error ends the client. */
  discover(read: () => string): Place | undefined;
  credentials(token: string | undefined): Record<string, string>;
  /** Headers of the request to a redirect's target, from those of the first request; undefined ignores redirects. */
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

/** Output of a failed job: prints `lines` on stdout and `complaint` on stderr, and exits with `code`. */
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
  /** Maximum wait in milliseconds. `nanos`: nanoseconds that a ping allows the device. */
  answerMs(nanos: number | undefined): number;
  /** Milliseconds that `headers` ask the client to wait. */
  askedToWait(headers: RetryHeaders): number | undefined;
  /** Milliseconds until the next attempt; undefined gives up. */
  retry(why: Refused): number | undefined;
  /** Throws CallFailed for an error status or a malformed body. */
  value(answer: Answer, job: CallJob): unknown;
  failed(error: unknown, access: Access): FailedJobOutput;
  greeting(access: Access): string;
  limit(wanted: number | undefined): number | undefined;
  query(asked: PageAsked): Record<string, string>;
  /** Throws CallFailed for a malformed page. */
  page(value: unknown): Page;
  /** Pages to request next, in parallel; an empty list ends the job. */
  next(got: Page, asked: PageAsked): readonly PageAsked[];
  items(page: Page, seen: ReadonlySet<unknown>): readonly unknown[];
}

export type PlainJob = Exclude<CallJob, 'list'>;

export interface JobBehaviour {
  requests: number;
  headers: Readonly<Record<string, string>>;
  /** Throws for values that the client refuses to send. */
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
  /** Every stream needs a new parser, which keeps state. */
  stream(): StreamBehaviour;
  follow: FollowBehaviour;
  calls: CallBehaviour;
  jobs: Readonly<Record<PlainJob, JobBehaviour>>;
}
