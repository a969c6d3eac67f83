import { isDeepStrictEqual } from 'node:util';
import { defined } from '../common/defined.ts';
import { excerpt, type Telling, tellingMost } from '../common/excerpt.ts';
import { Redactor } from '../common/redact.ts';
import type { Form } from './equivalent-forms.ts';
import type { Happening } from './happening.ts';
import { type Axis, cut, type Mark, type StreamMarks, Timeline } from './timeline.ts';

/** Recorded exchange, redacted; bodies are cut to 4096 characters, URLs to 2000, header values to 1000. */
export interface Recorded {
  method: string;
  url: string;
  request_headers: Record<string, string>;
  request_body?: string;
  status?: number;
  response_headers?: Record<string, string>;
  response_body?: string;
  error?: string;
  duration_ms: number;
  curl: string;
  raw?: true;
  times?: number;
}

export interface DriveStep {
  what: string;
  line?: string;
  beside?: true;
  ids?: Readonly<Record<string, string>>;
}

export type Step = { readonly drive: DriveStep } | { readonly exchange: Recorded };

interface Kept {
  readonly exchange: Recorded;
  readonly whole: Partial<Record<'request_body' | 'response_body', Whole>>;
}

interface Whole {
  readonly body: string | Buffer;
  readonly ended: boolean;
  readonly size?: string | undefined;
}

export interface Snapshot {
  readonly exchanges: readonly Kept[];
  readonly steps: readonly Step[];
  readonly marks: readonly Mark[];
}

const COUNTED = {
  requests: 'request',
  events: 'frame',
  heartbeats: 'heartbeat',
  drives: 'drive',
  restarts: 'restart',
  lines: 'printed',
} as const;

const BODY_LIMIT = 4096;
const URL_LIMIT = 2000;
const HEADER_LIMIT = 1000;
const KEPT_BYTES = 512 * 1024;
const MOST_STEPS = 100;

function beginningOf(body: string | Buffer, length: number, about: Omit<Whole, 'body'>): Whole {
  if (body.length <= length) return { body, ...about };
  const size = about.size ?? `${body.length} ${typeof body === 'string' ? 'characters' : 'bytes'}`;
  return {
    body: typeof body === 'string' ? body.slice(0, length) : Buffer.from(body.subarray(0, length)),
    ended: false,
    size,
  };
}

const withoutTimes = ({ duration_ms: _, response_headers: __, ...exchange }: Recorded): object => exchange;

export const exchangeText = ({ url, request_headers, request_body, status, response_body, error }: Recorded): string =>
  [url, ...Object.values(request_headers), request_body, status, response_body, error].join('\n');

export class Recorder {
  readonly redactor: Redactor;
  #exchanges: Kept[] = [];
  readonly #steps: Step[] = [];
  readonly #timeline: Timeline;
  readonly #markOf = new WeakMap<object, Mark>();
  driven = false;
  /** Called for each whole answer and each frame; must not throw. */
  readonly happened: (happening: Happening) => void;
  readonly form: Form | undefined;

  constructor(redactor: Redactor = new Redactor(), happened: (happening: Happening) => void = () => {}, form?: Form) {
    this.redactor = redactor;
    this.happened = happened;
    this.form = form;
    this.#timeline = new Timeline((text, limit) => redactor.excerpt(text, limit));
  }

  get exchanges(): readonly Recorded[] {
    return this.#exchanges.map(({ exchange }) => exchange);
  }

  evidence(about: Telling, most: number): Recorded[] {
    const part = ({ body, ended, size }: Whole): string => {
      const text = body.toString();
      const shown = excerpt(this.redactor.text(text, { ended }), BODY_LIMIT, about);
      return shown.endsWith('…') ? `${shown} (${size ?? `${text.length} characters`})` : shown;
    };
    const runs: Kept[][] = [];
    for (const kept of this.#exchanges) {
      const run = runs.at(-1);
      const first = run?.[0];
      if (first !== undefined && isDeepStrictEqual(withoutTimes(first.exchange), withoutTimes(kept.exchange)))
        run?.push(kept);
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

  get steps(): readonly Step[] | undefined {
    return this.#steps.length > MOST_STEPS ? undefined : this.#steps;
  }

  beginOfLast(count: number): number {
    const first = this.#exchanges.at(-count)?.exchange;
    const mark = first === undefined ? undefined : this.#markOf.get(first);
    return this.#timeline.began + (mark?.at_ms ?? 0);
  }

  get timeline(): Mark[] {
    return this.#timeline.marks;
  }

  get counts(): Record<string, number> {
    const counts = Object.entries(COUNTED).map(([name, kind]) => [name, this.#timeline.counts.get(kind) ?? 0] as const);
    return Object.fromEntries(counts.filter(([, count]) => count > 0));
  }

  get axis(): Axis {
    return this.#timeline;
  }

  ended(step: Recorded | DriveStep): void {
    const mark = this.#markOf.get(step);
    if (mark === undefined) return;
    if ('what' in step) this.#timeline.ended(mark);
    else this.#timeline.ended(mark, step.error === undefined ? `→ ${step.status ?? 'no answer'}` : '→ no answer');
  }

  stream(exchange: Recorded): StreamMarks | undefined {
    const mark = this.#markOf.get(exchange);
    return mark && this.#timeline.stream(mark);
  }

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

  drove({ what, line, restarts = false }: { what: string; line?: string | undefined; restarts?: boolean }): DriveStep {
    const clean = line === undefined ? undefined : this.redactor.text(line);
    const last = this.#exchanges.at(-1)?.exchange;
    const waiting = last !== undefined && last.status === undefined && last.error === undefined;
    const drive: DriveStep = {
      what: this.redactor.excerpt(what, BODY_LIMIT),
      ...(clean === line && defined({ line })),
      ...(waiting && { beside: true }),
    };
    this.driven = true;
    this.#markOf.set(drive, this.#timeline.add(restarts ? 'restart' : 'drive', drive.what));
    this.#step({ drive });
    return drive;
  }

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
    if (this.#exchanges.length > 50) this.#exchanges.shift();
    this.#keep(clean, 'request_body', request_body);
    this.#keep(clean, 'response_body', response_body);
    const parsed = URL.parse(clean.url);
    const path = parsed === null ? clean.url : parsed.pathname + parsed.search;
    if (!isOnAxis) this.#markOf.set(clean, this.#timeline.add('request', `${clean.method} ${path}`));
    this.#step({ exchange: clean });
    return clean;
  }

  received(exchange: Recorded, body: string | Buffer, about: Partial<Omit<Whole, 'body'>> = {}): void {
    this.#keep(exchange, 'response_body', body, about);
  }

  #keep(
    exchange: Recorded,
    name: keyof Kept['whole'],
    body: string | Buffer | undefined,
    { ended = true, size }: Partial<Omit<Whole, 'body'>> = {},
  ): void {
    if (body === undefined) return;
    const shown = beginningOf(body, 64 * 1024, { ended, size });
    exchange[name] = this.redactor.excerpt(shown.body.toString(), BODY_LIMIT, shown);
    const kept = this.#exchanges.findLast((one) => one.exchange === exchange);
    if (kept === undefined || body.length <= BODY_LIMIT) return;
    kept.whole[name] = beginningOf(body, KEPT_BYTES, { ended, size });
    let left = KEPT_BYTES;
    this.#exchanges = this.#exchanges
      .toReversed()
      .map((each, index) => {
        left -= Object.values(each.whole).reduce((sum, whole) => sum + whole.body.length, 0);
        return left >= 0 || index === 0 ? each : { exchange: each.exchange, whole: {} };
      })
      .toReversed();
  }

  failed(exchange: Recorded, text: string): void {
    exchange.error = this.redactor.excerpt(text, URL_LIMIT);
    this.ended(exchange);
  }

  headers(headers: Record<string, string>): Record<string, string> {
    const kept = Object.entries(headers).slice(0, 200);
    return this.redactor.headers(
      Object.fromEntries(
        kept.map(([name, value]) => [cut(name, HEADER_LIMIT), this.redactor.excerpt(value, HEADER_LIMIT)]),
      ),
    );
  }

  snapshot(): Snapshot {
    return { exchanges: [...this.#exchanges], steps: [...this.#steps], marks: [...this.#timeline.kept] };
  }

  restore({ exchanges, steps, marks }: Snapshot): void {
    this.#exchanges = [...exchanges];
    this.#steps.splice(0, Number.POSITIVE_INFINITY, ...steps);
    this.#timeline.kept.splice(0, Number.POSITIVE_INFINITY, ...marks);
  }

  forget(): void {
    this.restore({ exchanges: [], steps: [], marks: [] });
    this.#timeline.counts.clear();
  }

  #step(step: Step): void {
    if (this.#steps.length <= MOST_STEPS) this.#steps.push(step);
  }
}
