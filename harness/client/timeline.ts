/**
 * What a check did and saw, on one axis of time: the calls that drove the target, requests, and what came on each
 * stream. Of a client under test, the check is the server.
 */
import { defined } from '../common/defined.ts';

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
  /** Milliseconds of `performance.now()`. */
  readonly began = performance.now();
  /** As they are: of the many that are forgotten, none needs to be redacted. */
  readonly kept: Mark[] = [];
  /** How many there were of each kind, those among them that are forgotten too. */
  readonly counts = new Map<MarkKind, number>();
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
    this.#count(kind);
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
        request.until_ms = this.add(kind, why, number).at_ms;
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
    this.#count(kind);
    last.until_ms = now;
    last.count = (last.count ?? 1) + 1;
    // The first and the last of a burst tell what was in it; of bytes, each piece does.
    last.what = cut(kind === 'sent' ? `${last.what} ${what}` : `${last.what.split(' … ')[0]} … ${what}`, KEPT_STEPS);
  }

  #count(kind: MarkKind): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
  }

  #now(): number {
    return Math.round((performance.now() - this.began) * 10) / 10;
  }
}

type BurstKind = 'frame' | 'heartbeat' | 'sent' | 'printed';

/** Adds to the lane of one stream. */
export interface StreamMarks {
  came(kind: Exclude<BurstKind, 'printed'>, what: string): void;
  ended(kind: 'cut' | 'end', why: string): void;
}

/** For a check that is the server itself. */
export type Axis = Pick<Timeline, 'add' | 'ended' | 'printed' | 'stream'>;
