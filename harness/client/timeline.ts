import { defined } from '../common/defined.ts';

/**
 * Kinds of marks. `drive`: call of control; `restart`: stop or start of the target; `sent`: data of a check that acts
 * as server; `cut`: end of a stream by Muster; `end`: end of a stream by the target or a broken connection; `printed`:
 * output of a client under test.
 */
export const MARK_KINDS = [
  ...(['drive', 'restart', 'request', 'stream', 'frame', 'heartbeat', 'sent'] as const),
  ...(['cut', 'end', 'printed'] as const),
] as const;
export type MarkKind = (typeof MARK_KINDS)[number];

export interface Mark {
  at_ms: number;
  until_ms?: number;
  kind: MarkKind;
  what: string;
  stream?: number;
  count?: number;
}

/** Cuts a text after `limit` characters and adds `…`, because a Redactor masks the beginning of a secret before `…`. */
export const cut = (text: string, limit: number): string => (text.length <= limit ? text : `${text.slice(0, limit)}…`);

const KEPT_STEPS = 1000;

export class Timeline {
  readonly began = performance.now();
  readonly kept: Mark[] = [];
  readonly counts = new Map<MarkKind, number>();
  #streams = 0;
  readonly #excerpt: (text: string, limit: number) => string;

  constructor(excerpt: (text: string, limit: number) => string) {
    this.#excerpt = excerpt;
  }

  get marks(): Mark[] {
    return this.kept.map((mark) => {
      const shown = mark.kind === 'sent' || mark.kind === 'printed' ? 400 : 160;
      return { ...mark, what: this.#excerpt(mark.what, shown) };
    });
  }

  add(kind: MarkKind, what: string, stream?: number): Mark {
    const mark: Mark = { at_ms: this.#now(), kind, what: cut(what, KEPT_STEPS), ...defined({ stream }) };
    this.#count(kind);
    this.kept.push(mark);
    if (this.kept.length <= 150) return mark;
    // Keeps marks that open a stream, because later marks refer to them.
    const oldest = this.kept.findIndex((one) => one.kind !== 'stream');
    this.kept.splice(Math.max(0, oldest), 1);
    return mark;
  }

  ended(mark: Mark, more?: string): void {
    mark.until_ms = this.#now();
    if (more !== undefined) mark.what = cut(`${mark.what} ${more}`, KEPT_STEPS);
  }

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

  printed(what: string): void {
    this.#burst('printed', what);
  }

  #burst(kind: BurstKind, what: string, stream?: number): void {
    const last = this.kept.findLast((mark) => mark.stream === stream && (stream !== undefined || mark.kind === kind));
    const now = this.#now();
    // Joins frames or lines within 20 ms of each other into one mark.
    if (last?.kind !== kind || now - (last.until_ms ?? last.at_ms) > 20) return void this.add(kind, what, stream);
    this.#count(kind);
    last.until_ms = now;
    last.count = (last.count ?? 1) + 1;
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

export interface StreamMarks {
  came(kind: Exclude<BurstKind, 'printed'>, what: string): void;
  ended(kind: 'cut' | 'end', why: string): void;
}

export type Axis = Pick<Timeline, 'add' | 'ended' | 'printed' | 'stream'>;
