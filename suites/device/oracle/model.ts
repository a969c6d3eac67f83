/** Predicts the events of each stream from history; no I/O, no clock. */
import { otherThanBefore, type SeenEvent, sameEnvelope, showIds } from '../support/events.ts';

export type StreamDifference =
  | 'missing'
  | 'invented'
  | 'cursor repeated'
  | 'type not asked for'
  | 'changed'
  | 'order'
  | 'refused'
  | 'not served'
  | 'served though gone';

export interface Difference {
  kind: StreamDifference;
  expected: string;
  actual: string;
  missing?: readonly bigint[];
}

interface Owed {
  after: bigint;
  upTo: bigint;
  types?: readonly string[] | undefined;
}

export class Ledger {
  readonly events: SeenEvent[] = [];
  readonly #byId = new Map<bigint, SeenEvent>();
  /** All events above `from`, up to `closed`, are known; any other id between them is invented. */
  from: bigint;
  closed: bigint;
  /** Compaction has removed all events below this id. */
  earliest = 0n;
  /** Ids of early events; once compaction has removed them, they serve as expired cursors. */
  oldest: readonly bigint[];
  #unread = { first: 0n, last: -1n };

  constructor(from: bigint) {
    this.from = from;
    this.closed = from;
    this.oldest = [from];
  }

  get(id: bigint): SeenEvent | undefined {
    return this.#byId.get(id);
  }

  cursorAt(steps: number): bigint {
    return (this.events.at(-1 - steps) ?? this.events[0])?.id ?? this.closed;
  }

  get newest(): bigint {
    const id = this.events.at(-1)?.id;
    return id !== undefined && id > this.closed ? id : this.closed;
  }

  learn(event: SeenEvent): Difference | undefined {
    const { id } = event;
    const known = this.#byId.get(id);
    if (known !== undefined) return changeOf(known, event);
    if (id <= this.from) return undefined;
    if (id <= this.closed)
      return finding(
        'invented',
        `no event ${id}: all events up to ${this.closed} had come before, and it was not among them`,
        `${event.type} ${event.text.slice(0, 300)}`,
      );
    this.#byId.set(id, event);
    const at = this.events.findLastIndex((one) => one.id < id) + 1;
    this.events.splice(at, 0, event);
    return undefined;
  }

  skip({ first, last, count }: { first: bigint; last: bigint; count: number }): void {
    if (last - first + 1n === BigInt(count)) this.#unread = { first, last };
    this.from = last;
    this.closed = last;
  }

  get gone(): readonly bigint[] {
    return [...this.oldest, ...this.events.map(({ id }) => id)].filter((id) => id < this.earliest);
  }

  owed({ after, upTo, types }: Owed): SeenEvent[] {
    return this.events.filter(
      ({ id, type }) => id > after && id <= upTo && (types === undefined || types.includes(type)),
    );
  }

  /** Ids due on a stream from the batch last skipped; empty with `types`, and once `closed` lies beyond the batch. */
  unread({ after, upTo, types }: Owed): bigint[] {
    const { first, last } = this.#unread;
    if (types !== undefined || last !== this.closed || upTo < last) return [];
    const from = [first, after + 1n, this.earliest].reduce((most, id) => (id > most ? id : most));
    return Array.from({ length: Math.max(0, Number(last - from) + 1) }, (_, at) => from + BigInt(at));
  }

  /** Treatment due to a cursor; `open`: a replay and a refusal are both right. */
  fate(cursor: bigint): 'served' | 'expired' | 'open' {
    if (cursor >= this.earliest) return 'served';
    const { first, last } = this.#unread;
    const isUnread = (id: bigint): boolean => id >= first && id <= last;
    const lost = this.gone.some((id) => id > cursor) || (cursor + 1n < this.earliest && isUnread(cursor + 1n));
    const isKnown = this.#byId.has(cursor) || this.oldest.includes(cursor) || isUnread(cursor);
    return lost && isKnown ? 'expired' : 'open';
  }
}

function changeOf(known: SeenEvent, event: SeenEvent): Difference | undefined {
  const isSame = known.text === event.text || sameEnvelope(known.envelope, event.envelope);
  return known.type === event.type && isSame ? undefined : { kind: 'changed', ...otherThanBefore(known, event) };
}

export function judgeStream(ledger: Ledger, came: readonly SeenEvent[], owed: Owed): Difference | undefined {
  const { after, upTo, types } = owed;
  const due = ledger.owed(owed);
  const seen = new Set<bigint>();
  let newest: bigint | undefined;
  for (const event of came) {
    const { id, type } = event;
    if (id <= after && newest === undefined)
      return finding('cursor repeated', `events after ${after}: replay is exclusive of the cursor`, `event ${id}`);
    if (newest !== undefined && id <= newest && !seen.has(id))
      return finding('order', `events in order, after ${newest}`, `event ${id} after event ${newest}`);
    if (types !== undefined && !types.includes(type))
      return finding('type not asked for', `events of the types ${types.join(', ')} alone`, `${type}, event ${id}`);
    seen.add(id);
    newest = newest === undefined || id > newest ? id : newest;
    const known = ledger.get(id);
    const change = known && changeOf(known, event);
    if (change !== undefined) return change;
  }
  const invented = came.find(
    ({ id }) => id > after && id > ledger.from && id <= upTo && id <= ledger.closed && ledger.get(id) === undefined,
  );
  if (invented !== undefined)
    return finding('invented', `the events ${showIds(due)}`, `event ${invented.id}, which no other stream has brought`);
  const all = [...ledger.unread(owed).map((id) => ({ id })), ...due];
  const missing = all.filter(({ id }) => !seen.has(id));
  if (missing.length === 0) return undefined;
  const shown = finding('missing', `the events ${showIds(all)}`, `missing ${showIds(missing)}`);
  return { ...shown, missing: missing.map(({ id }) => id) };
}

const finding = (kind: StreamDifference, expected: string, actual: string): Difference => ({ kind, expected, actual });
