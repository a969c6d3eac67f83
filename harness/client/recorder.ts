/**
 * Records what was sent and received, so that a finding can show its exchanges and a `curl` line that repeats the last.
 */

import { defined } from '../common/defined.ts';
import { Redactor } from './redact.ts';

// What a check did and saw, on one axis of time: the calls that drove the target, requests, and what came on each
// stream. Of a client under test, the check is the server.

/**
 * `drive`: control was asked to do something. `restart`: the target was stopped or started. `request`: one with an
 * answer. `stream`: an answer in pieces while it was open. `frame` and `heartbeat` came on it; bytes were `sent` on it
 * by a check that is the server; `cut`: the check ended it; `end`: the target did, or it broke. `printed`: by a client.
 * An `end` on no stream is that of the target.
 */
export const MARK_KINDS = [
  ...(['drive', 'restart', 'request', 'stream', 'frame', 'heartbeat', 'sent'] as const),
  ...(['cut', 'end', 'printed'] as const),
] as const;
export type MarkKind = (typeof MARK_KINDS)[number];

/** One thing that happened. Milliseconds since the check began. */
export interface Mark {
  at_ms: number;
  /** For what took time, or came in a burst; absent while it had not ended when the check did. */
  until_ms?: number;
  kind: MarkKind;
  /** In words. */
  what: string;
  /** Number of the stream, from 1, that it belongs to. */
  stream?: number;
  /** How many there were in the burst. */
  count?: number;
}

/** Cuts a text to a number of characters. The mark shows a Redactor where a secret may have been cut too. */
export const cut = (text: string, limit: number): string => (text.length <= limit ? text : `${text.slice(0, limit)}…`);

/** A long check keeps its last marks only. */
const MOST = 150;
/** What comes on one stream within this time, milliseconds, is one burst. */
const BURST_MS = 20;
/** Characters of a text that are kept, and of one that is shown. */
const KEPT_STEPS = 1000;
const SHOWN = 160;
/** Of bytes, and of what a client prints: they are what a finding is about. */
const SHOWN_WHOLE = 400;

/** Keeps the marks of one check. */
export class Timeline {
  readonly #began = performance.now();
  /** As they are: of the many that are forgotten, none needs to be redacted. */
  readonly kept: Mark[] = [];
  #streams = 0;
  readonly #excerpt: (text: string, limit: number) => string;

  /** `excerpt`: masks secrets and cuts. */
  constructor(excerpt: (text: string, limit: number) => string) {
    this.#excerpt = excerpt;
  }

  /** Copies, redacted. */
  get marks(): Mark[] {
    return this.kept.map((mark) => {
      const shown = mark.kind === 'sent' || mark.kind === 'printed' ? SHOWN_WHOLE : SHOWN;
      return { ...mark, what: this.#excerpt(mark.what, shown) };
    });
  }

  /** Adds a mark now, and returns it so that its end can be set with `ended`. */
  add(kind: MarkKind, what: string, stream?: number): Mark {
    const mark: Mark = { at_ms: this.#now(), kind, what: cut(what, KEPT_STEPS), ...defined({ stream }) };
    this.kept.push(mark);
    // A stream stays as long as something on it does.
    if (this.kept.length > MOST)
      this.kept.splice(
        Math.max(
          0,
          this.kept.findIndex((one) => one.kind !== 'stream'),
        ),
        1,
      );
    return mark;
  }

  /** That took until now. `more` is added to its words. */
  ended(mark: Mark, more?: string): void {
    mark.until_ms = this.#now();
    if (more !== undefined) mark.what = cut(`${mark.what} ${more}`, KEPT_STEPS);
  }

  /** A stream was opened by that request. Returns what adds to it. */
  stream(request: Mark): StreamMarks {
    this.#streams += 1;
    const number = this.#streams;
    request.kind = 'stream';
    request.stream = number;
    delete request.until_ms;
    return {
      came: (kind, what) => {
        if (this.kept.includes(request)) this.#burst(kind, what, number);
      },
      ended: (kind, why) => {
        if (!this.kept.includes(request)) return;
        this.ended(request);
        this.add(kind, why, number);
      },
    };
  }

  /** A client under test printed that. */
  printed(what: string): void {
    this.#burst('printed', what);
  }

  /** Adds a mark now, or to the last one of its lane when that is of the same burst. */
  #burst(kind: BurstKind, what: string, stream?: number): void {
    const last = this.kept.findLast((mark) => mark.stream === stream && (stream !== undefined || mark.kind === kind));
    const now = this.#now();
    if (last?.kind !== kind || now - (last.until_ms ?? last.at_ms) > BURST_MS) {
      this.add(kind, what, stream);
      return;
    }
    last.until_ms = now;
    last.count = (last.count ?? 1) + 1;
    // The first and the last of a burst tell what was in it; of bytes, each piece does.
    last.what = cut(kind === 'sent' ? `${last.what} ${what}` : `${last.what.split(' … ')[0]} … ${what}`, KEPT_STEPS);
  }

  #now(): number {
    return Math.round((performance.now() - this.#began) * 10) / 10;
  }
}

type BurstKind = 'frame' | 'heartbeat' | 'sent' | 'printed';

/** Adds to the lane of one stream. */
export interface StreamMarks {
  came(kind: Exclude<BurstKind, 'printed'>, what: string): void;
  ended(kind: 'cut' | 'end', why: string): void;
}

/** One exchange, already redacted. Bodies are cut to 4096 characters, URLs to 2000, the values of headers to 1000. */
export interface Recorded {
  method: string;
  url: string;
  request_headers: Record<string, string>;
  request_body?: string;
  status?: number;
  response_headers?: Record<string, string>;
  response_body?: string;
  /** Why there is no answer, or why it ended early. */
  error?: string;
  duration_ms: number;
  curl: string;
}

/** One call that drove the target. */
export interface DriveStep {
  /** In words, e.g. `POST /events {"count":3}`. */
  what: string;
  /** Shell line that makes the call again; absent where a line cannot. */
  line?: string;
  /** It was made while the last exchange before it still waited for its answer. */
  beside?: true;
  /** The ids that came back, by their fields in the answer; absent as long as nothing has. */
  ids?: Readonly<Record<string, string>>;
}

/** One thing that a check did: it drove the target, or asked it. */
export type Step = { readonly drive: DriveStep } | { readonly exchange: Recorded };

/** What a recorder holds at one moment. */
export interface Snapshot {
  readonly exchanges: readonly Recorded[];
  readonly steps: readonly Step[];
  readonly marks: readonly Mark[];
}

const BODY_LIMIT = 4096;
/** Bytes of a body that are decoded to record its beginning: masks are shorter than what they hide. */
const DECODED = 64 * 1024;
const URL_LIMIT = 2000;
const HEADER_LIMIT = 1000;
const MOST_HEADERS = 200;
/** A long check keeps its last exchanges only. */
const KEPT = 50;
/** Nobody reads a longer script. */
const MOST_STEPS = 100;

/** Path and query of a URL; the whole text where it is none. */
function pathOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? url : parsed.pathname + parsed.search;
}

export type Axis = Pick<Timeline, 'add' | 'ended' | 'printed' | 'stream'>;

/** The exchanges of one check, and the calls that drove the target between them, redacted. */
export class Recorder {
  readonly redactor: Redactor;
  readonly #exchanges: Recorded[] = [];
  readonly #steps: Step[] = [];
  readonly #timeline: Timeline;
  readonly #markOf = new WeakMap<object, Mark>();
  #driven = false;

  constructor(redactor: Redactor = new Redactor()) {
    this.redactor = redactor;
    this.#timeline = new Timeline((text, limit) => redactor.excerpt(text, limit));
  }

  get exchanges(): readonly Recorded[] {
    return this.#exchanges;
  }

  /** All that the check did, in order; undefined when it was too much to be kept. */
  get steps(): readonly Step[] | undefined {
    return this.#steps.length > MOST_STEPS ? undefined : this.#steps;
  }

  /** What the check did and saw, on one axis of time. */
  get timeline(): Mark[] {
    return this.#timeline.marks;
  }

  /** For a check that is the server itself: it adds what it does and sees as it happens. */
  get axis(): Axis {
    return this.#timeline;
  }

  /** The whole answer to an exchange is there, or what went wrong; or control has answered a drive. */
  ended(step: Recorded | DriveStep): void {
    const mark = this.#markOf.get(step);
    if (mark === undefined) return;
    if ('what' in step) this.#timeline.ended(mark);
    else this.#timeline.ended(mark, step.error === undefined ? `→ ${step.status ?? 'no answer'}` : '→ no answer');
  }

  /** The answer to that exchange is an event stream. */
  stream(exchange: Recorded): StreamMarks | undefined {
    const mark = this.#markOf.get(exchange);
    return mark && this.#timeline.stream(mark);
  }

  /** Whether the check has driven the target. */
  get driven(): boolean {
    return this.#driven;
  }

  /** Forgets all steps but those that drove the target. Returns these, for `restore`. */
  keepDrives(): Snapshot {
    const { exchanges, steps, marks } = this.snapshot();
    const drives: Snapshot = {
      exchanges: [],
      steps: steps.filter((step) => 'drive' in step),
      marks: marks.filter(({ kind }) => kind === 'drive' || kind === 'restart'),
    };
    this.restore({ ...drives, exchanges });
    return drives;
  }

  /**
   * Keeps a call that drives the target, redacted, before it is made. `restarts`: it stops or starts the agent. The
   * object comes back so that its ids can be added.
   */
  drove({ what, line, restarts = false }: { what: string; line?: string | undefined; restarts?: boolean }): DriveStep {
    const clean = line === undefined ? undefined : this.redactor.text(line);
    // A line without its secret does not work.
    const last = this.#exchanges.at(-1);
    const waiting = last !== undefined && last.status === undefined && last.error === undefined;
    const drive: DriveStep = {
      what: this.body(what),
      ...(clean === line && defined({ line })),
      ...(waiting && { beside: true }),
    };
    this.#driven = true;
    this.#markOf.set(drive, this.#timeline.add(restarts ? 'restart' : 'drive', drive.what));
    this.#step({ drive });
    return drive;
  }

  /**
   * Keeps an exchange, redacted. The object comes back so that a stream can go on filling it. `isOnAxis`: its marks are
   * there.
   */
  add(exchange: Recorded, { isOnAxis = false }: { isOnAxis?: boolean } = {}): Recorded {
    const { url, curl, request_headers, request_body, response_headers, response_body, error } = exchange;
    const clean: Recorded = {
      ...exchange,
      url: this.redactor.excerpt(url, URL_LIMIT),
      curl: this.redactor.text(curl),
      request_headers: this.headers(request_headers),
      ...(request_body !== undefined && { request_body: this.body(request_body) }),
      ...(response_headers !== undefined && { response_headers: this.headers(response_headers) }),
      ...(response_body !== undefined && { response_body: this.body(response_body) }),
      ...(error !== undefined && { error: this.redactor.excerpt(error, URL_LIMIT) }),
    };
    this.#exchanges.push(clean);
    if (this.#exchanges.length > KEPT) this.#exchanges.shift();
    if (!isOnAxis) this.#markOf.set(clean, this.#timeline.add('request', `${clean.method} ${pathOf(clean.url)}`));
    this.#step({ exchange: clean });
    return clean;
  }

  /** A body as it is recorded: redacted and cut. `ended: false` for one that was broken off. */
  body(text: string, options?: { ended?: boolean }): string {
    return this.redactor.excerpt(text, BODY_LIMIT, options);
  }

  /** The body of an answer as it is recorded. Only its beginning is decoded. */
  bytes(body: Buffer): string {
    if (body.length <= DECODED) return this.body(body.toString('utf8'));
    return this.redactor.excerpt(body.toString('utf8', 0, DECODED), BODY_LIMIT, { size: `${body.length} bytes` });
  }

  /** An exchange has ended without a whole answer; the text says why. */
  failed(exchange: Recorded, text: string): void {
    exchange.error = this.redactor.excerpt(text, URL_LIMIT);
    this.ended(exchange);
  }

  /** Headers as they are recorded: redacted, and each value cut. */
  headers(headers: Record<string, string>): Record<string, string> {
    const kept = Object.entries(headers).slice(0, MOST_HEADERS);
    return this.redactor.headers(
      Object.fromEntries(
        kept.map(([name, value]) => [cut(name, HEADER_LIMIT), this.redactor.excerpt(value, HEADER_LIMIT)]),
      ),
    );
  }

  /** What it holds now, for `restore`. */
  snapshot(): Snapshot {
    return { exchanges: [...this.#exchanges], steps: [...this.#steps], marks: [...this.#timeline.kept] };
  }

  /** Goes back to what it held before. */
  restore({ exchanges, steps, marks }: Snapshot): void {
    this.#exchanges.splice(0, Number.POSITIVE_INFINITY, ...exchanges);
    this.#steps.splice(0, Number.POSITIVE_INFINITY, ...steps);
    this.#timeline.kept.splice(0, Number.POSITIVE_INFINITY, ...marks);
  }

  /** One step more than the most shows that some are missing. */
  #step(step: Step): void {
    if (this.#steps.length <= MOST_STEPS) this.#steps.push(step);
  }
}
