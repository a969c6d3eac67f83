/**
 * Records what was sent and received, so that a finding can show its exchanges and a `curl` line that repeats the last.
 */

import { isDeepStrictEqual } from 'node:util';
import { defined } from '../common/defined.ts';
import { excerpt, type Telling, tellingMost } from '../common/excerpt.ts';
import { Redactor } from '../common/redact.ts';
import type { Form } from './forms.ts';
import type { Happening } from './happening.ts';
import { type Axis, cut, type Mark, type StreamMarks, Timeline } from './timeline.ts';

/**
 * One exchange, already redacted. Bodies are cut to 4096 characters: to their beginning, or to what a finding is about.
 * URLs are cut to 2000, the values of headers to 1000.
 */
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
  /** Its request was sent as the bytes in `request_body`, head included. */
  raw?: true;
  /** How often it was made one after the other with the same answer; absent for once. */
  times?: number;
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

/** An exchange, and of bodies that were cut the whole, as it came. */
interface Kept {
  readonly exchange: Recorded;
  readonly whole: Partial<Record<'request_body' | 'response_body', Whole>>;
}

interface Whole {
  readonly body: string | Buffer;
  /** `false`: it was broken off. */
  readonly ended: boolean;
  /** How long it was, where it is only its beginning. */
  readonly size?: string | undefined;
}

/** What a recorder holds at one moment. */
export interface Snapshot {
  readonly exchanges: readonly Kept[];
  readonly steps: readonly Step[];
  readonly marks: readonly Mark[];
}

/** What is counted of every check, by the kinds of marks. */
const COUNTED = {
  requests: 'request',
  events: 'frame',
  heartbeats: 'heartbeat',
  drives: 'drive',
  restarts: 'restart',
  lines: 'printed',
} as const;

const BODY_LIMIT = 4096;
/** Bytes of a body that are decoded to record its beginning: masks are shorter than what they hide. */
const DECODED = 64 * 1024;
const URL_LIMIT = 2000;
const HEADER_LIMIT = 1000;
const MOST_HEADERS = 200;
/** A long check keeps its last exchanges only, and of these the whole bodies of the last, in bytes. */
const KEPT = 50;
const KEPT_BYTES = 512 * 1024;
/** Nobody reads a longer script. */
const MOST_STEPS = 100;

/** Path and query of a URL; the whole text where it is none. */
function pathOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? url : parsed.pathname + parsed.search;
}

/** A copy of the beginning: a part would keep all of it in memory. */
function beginningOf(body: string | Buffer, length: number, about: Omit<Whole, 'body'>): Whole {
  if (body.length <= length) return { body, ...about };
  const size = about.size ?? `${body.length} ${typeof body === 'string' ? 'characters' : 'bytes'}`;
  return {
    body: typeof body === 'string' ? body.slice(0, length) : Buffer.from(body.subarray(0, length)),
    ended: false,
    size,
  };
}

/** The place of requests in a trace. */
export interface RequestTrace {
  /** Begins the span of a request: the header that names it. */
  traceparent(): string;
  /** The request has its answer, or none. */
  ended(exchange: Recorded): void;
}

/** The same request with the same answer; headers of answers tell the time, and each request has its span. */
const isSame = (left: Recorded, right: Recorded): boolean => isDeepStrictEqual(withoutTimes(left), withoutTimes(right));
const withoutTimes = ({ duration_ms: _, response_headers: __, request_headers, ...exchange }: Recorded): object => ({
  ...exchange,
  request_headers: { ...request_headers, traceparent: undefined },
});

/** All that was asked and answered, as one text. */
export const exchangeText = ({ url, request_headers, request_body, status, response_body, error }: Recorded): string =>
  [url, ...Object.values(request_headers), request_body, status, response_body, error].join('\n');

/** The exchanges of one check, and the calls that drove the target between them, redacted. */
export class Recorder {
  readonly redactor: Redactor;
  #exchanges: Kept[] = [];
  readonly #steps: Step[] = [];
  readonly #timeline: Timeline;
  readonly #markOf = new WeakMap<object, Mark>();
  #driven = false;

  /** Called with each whole answer and each frame of a stream. Must not throw. */
  readonly happened: (happening: Happening) => void;
  /** How the requests are written that it records. Default: as usual. */
  readonly form: Form | undefined;

  readonly #trace: RequestTrace | undefined;

  constructor(
    redactor: Redactor = new Redactor(),
    happened: (happening: Happening) => void = () => {},
    form?: Form,
    trace?: RequestTrace,
  ) {
    this.redactor = redactor;
    this.happened = happened;
    this.form = form;
    this.#trace = trace;
    this.#timeline = new Timeline((text, limit) => redactor.excerpt(text, limit));
  }

  get exchanges(): readonly Recorded[] {
    return this.#exchanges.map(({ exchange }) => exchange);
  }

  /** The exchanges that `about` tells of, each with that part of its bodies. Polls with one answer are one. */
  evidence(about: Telling, most: number): Recorded[] {
    const part = ({ body, ended, size }: Whole): string => {
      const text = body.toString();
      const shown = excerpt(this.redactor.text(text, { ended }), BODY_LIMIT, about);
      return shown.endsWith('…') ? `${shown} (${size ?? `${text.length} characters`})` : shown;
    };
    const runs: Kept[][] = [];
    for (const kept of this.#exchanges) {
      const run = runs.at(-1);
      if (run?.[0] !== undefined && isSame(run[0].exchange, kept.exchange)) run.push(kept);
      else runs.push([kept]);
    }
    const shown = runs.flatMap((run) => {
      const { exchange, whole } = run.at(-1) as Kept;
      const bodies = Object.entries(whole).map(([name, body]) => [name, part(body)]);
      const times = run.length > 1 ? { times: run.length } : {};
      return { ...exchange, ...(Object.fromEntries(bodies) as Partial<Recorded>), ...times };
    });
    return tellingMost(shown, exchangeText, most, about);
  }

  /** All that the check did, in order; undefined when it was too much to be kept. */
  get steps(): readonly Step[] | undefined {
    return this.#steps.length > MOST_STEPS ? undefined : this.#steps;
  }

  /**
   * When the first of the last `count` exchanges began, in milliseconds of `performance.now()`; of fewer, the check.
   */
  beginOfLast(count: number): number {
    const first = this.#exchanges.at(-count)?.exchange;
    const mark = first === undefined ? undefined : this.#markOf.get(first);
    return this.#timeline.began + (mark?.at_ms ?? 0);
  }

  /** What the check did and saw, on one axis of time. */
  get timeline(): Mark[] {
    return this.#timeline.marks;
  }

  /** How many requests, events and so on there were, by the names that `least` of a check uses. */
  get counts(): Record<string, number> {
    const counts = Object.entries(COUNTED).map(([name, kind]) => [name, this.#timeline.counts.get(kind) ?? 0] as const);
    return Object.fromEntries(counts.filter(([, count]) => count > 0));
  }

  /** For a check that is the server itself: it adds what it does and sees as it happens. */
  get axis(): Axis {
    return this.#timeline;
  }

  /** Headers of a request, with its place in a trace where there is one. */
  traced(headers: Record<string, string>): Record<string, string> {
    return this.#trace === undefined ? headers : { ...headers, traceparent: this.#trace.traceparent() };
  }

  /** The whole answer to an exchange is there, or what went wrong; or control has answered a drive. */
  ended(step: Recorded | DriveStep): void {
    if (!('what' in step)) this.#trace?.ended(step);
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
    const last = this.#exchanges.at(-1)?.exchange;
    const waiting = last !== undefined && last.status === undefined && last.error === undefined;
    const drive: DriveStep = {
      what: this.redactor.excerpt(what, BODY_LIMIT),
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
      ...(response_headers !== undefined && { response_headers: this.headers(response_headers) }),
      ...(error !== undefined && { error: this.redactor.excerpt(error, URL_LIMIT) }),
    };
    this.#exchanges.push({ exchange: clean, whole: {} });
    if (this.#exchanges.length > KEPT) this.#exchanges.shift();
    this.#keep(clean, 'request_body', request_body);
    this.#keep(clean, 'response_body', response_body);
    if (!isOnAxis) this.#markOf.set(clean, this.#timeline.add('request', `${clean.method} ${pathOf(clean.url)}`));
    this.#step({ exchange: clean });
    return clean;
  }

  /** The body of an answer has come. `ended: false` for one that was broken off; `size`: of one that is not whole. */
  received(
    exchange: Recorded,
    body: string | Buffer,
    about: { ended?: boolean; size?: string | undefined } = {},
  ): void {
    this.#keep(exchange, 'response_body', body, about);
  }

  #keep(
    exchange: Recorded,
    name: keyof Kept['whole'],
    body: string | Buffer | undefined,
    { ended = true, size }: { ended?: boolean; size?: string | undefined } = {},
  ): void {
    if (body === undefined) return;
    const shown = beginningOf(body, DECODED, { ended, size });
    exchange[name] = this.redactor.excerpt(shown.body.toString(), BODY_LIMIT, shown);
    const kept = this.#exchanges.findLast((one) => one.exchange === exchange);
    if (kept === undefined || body.length <= BODY_LIMIT) return;
    kept.whole[name] = beginningOf(body, KEPT_BYTES, { ended, size });
    this.#forgetWholes();
  }

  /** A snapshot keeps those that it has. */
  #forgetWholes(): void {
    let left = KEPT_BYTES;
    this.#exchanges = this.#exchanges
      .toReversed()
      .map((kept, index) => {
        left -= Object.values(kept.whole).reduce((sum, { body }) => sum + body.length, 0);
        return left >= 0 || index === 0 ? kept : { exchange: kept.exchange, whole: {} };
      })
      .toReversed();
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
    this.#exchanges = [...exchanges];
    this.#steps.splice(0, Number.POSITIVE_INFINITY, ...steps);
    this.#timeline.kept.splice(0, Number.POSITIVE_INFINITY, ...marks);
  }

  /** Goes back to its beginning: what it has counted is forgotten too. */
  forget(): void {
    this.restore({ exchanges: [], steps: [], marks: [] });
    this.#timeline.counts.clear();
  }

  /** One step more than the most shows that some are missing. */
  #step(step: Step): void {
    if (this.#steps.length <= MOST_STEPS) this.#steps.push(step);
  }
}
