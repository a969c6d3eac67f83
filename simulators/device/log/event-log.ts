/** Event log (section 6.2 of the specification, rule 5); the JSONL file is the source of truth. */
import { setImmediate as turn } from 'node:timers/promises';
import type { ControlLog } from '../../../harness/contract/control.ts';
import { timestamp } from '../../common/clock.ts';
import { type Generation, givenUp, lowestOf } from './generation.ts';
import { AgentDownError, CompactionError, EventLogError, errorCode, ifPresent, isFull, opened } from './io.ts';
import { type EventDraft, eventLine, type StoredEvent, sealed } from './line.ts';
import { type Incarnation, LogFile } from './log-file.ts';
import { scanEvents } from './recovery.ts';

export interface EventLogOptions extends Incarnation {
  retain: number;
  retainBytes: number;
  /** Called in order, in the tick in which the events become readable. */
  onStored(events: readonly StoredEvent[]): void;
}

interface Pending {
  events: StoredEvent[];
  resolve(range: { first: number; last: number }): void;
  reject(error: Error): void;
}

const SHARE_KEPT = 0.8;
const NAMED = 10;

export class EventLog {
  readonly #options: EventLogOptions;
  readonly #file: LogFile;
  #damage: { generation: Generation; met: Set<number> } | undefined;
  readonly repairs: string[] = [];
  #next = 0;
  #appends: Pending[] = [];
  #compactions: PromiseWithResolvers<void>[] = [];
  #working: Promise<void> | undefined;
  #state: 'open' | 'closing' | 'down' = 'open';

  /** Throws if the log cannot be read or repaired. */
  constructor(options: EventLogOptions) {
    this.#options = options;
    const onNotice = (notice: string, error?: unknown): void => {
      if (this.#next === 0) this.repairs.push(notice);
      options.onNotice(notice, error);
    };
    this.#file = new LogFile({ ...options, onNotice });
    this.#next = this.latest + this.#step;
  }

  get path(): string {
    return this.#file.path;
  }

  get generation(): Generation {
    return this.#file.generation;
  }

  get latest(): number {
    return this.generation.latest;
  }

  get earliest(): number {
    return this.generation.earliest ?? this.latest + 1;
  }

  /** Number of retained events, too high if lines are damaged or the mark file is missing. */
  get count(): number {
    const { earliest, latest, gaps } = this.generation;
    return earliest === undefined ? 0 : Math.floor((latest - earliest - givenUp(gaps, earliest)) / this.#step) + 1;
  }

  noteDamage(offset: number, bytes: number): void {
    const { generation } = this;
    if (this.#damage?.generation !== generation) this.#damage = { generation, met: new Set() };
    const { met } = this.#damage;
    if (met.has(offset) || met.size >= NAMED) return;
    met.add(offset);
    const more = met.size === NAMED ? '; further ones are not named' : '';
    const notice = `the line of ${bytes} bytes at offset ${offset} is damaged, and skipped${more}`;
    this.#options.onNotice(`${this.path}: ${notice}`);
  }

  async inspect(): Promise<ControlLog> {
    const { generation, path, earliest, latest, repairs } = this;
    const { io } = this.#options;
    const found = { events: 0, skipped_lines: 0, skipped_bytes: 0, skipped: [] as ControlLog['skipped'] };
    const bad = (offset: number, bytes: number): void => {
      found.skipped_lines += 1;
      found.skipped_bytes += bytes;
      if (found.skipped.length < NAMED) found.skipped.push({ offset, bytes });
    };
    using file = ifPresent(path, () => opened(io, path, 'r'));
    let after = 0;
    for (let from = 0; file !== undefined && from < generation.bytes; await turn()) {
      // Bytes that `inspect` reads at once, before other work can run.
      const until = from + 1_048_576;
      const scan = { io, fd: file.fd, from, to: generation.bytes, after, onDamage: bad, onDisorder: bad };
      const next = scanEvents(scan, ({ id }, offset) => {
        found.events += 1;
        after = id;
        return offset < until;
      });
      if (next === from) break;
      from = next;
    }
    const { events, ...skipped } = found;
    const ids = { earliest_id: earliest, latest_id: latest };
    const { bytes, gaps } = generation;
    return { bytes, events, ...ids, ...skipped, unused_ids: [...gaps], repairs: [...repairs] };
  }

  /** Resolves with the first and last id once the events are stored and delivered. Rejects with EventLogError. */
  append(drafts: readonly EventDraft[]): Promise<{ first: number; last: number }> {
    if (this.#state !== 'open') return Promise.reject(new AgentDownError('the robot is down, its log takes no events'));
    const { clock, behaviour } = this.#options;
    const occurredAt = behaviour.deployments.occurredAt(timestamp(clock));
    const events = drafts.map((draft) => {
      const { type, data } = behaviour.deployments.event(draft);
      const id = this.#next;
      this.#next += this.#step;
      return eventLine(id, type, occurredAt, data);
    });
    return new Promise((resolve, reject) => {
      this.#appends.push({ events, resolve, reject });
      this.#work();
    });
  }

  /** Removes the oldest 20 % of the events. Rejects with CompactionError, or AgentDownError while the robot is down. */
  compact(): Promise<void> {
    if (this.#state !== 'open')
      return Promise.reject(new AgentDownError('the robot is down, its log is not compacted'));
    const compaction = Promise.withResolvers<void>();
    this.#compactions.push(compaction);
    this.#work();
    return compaction.promise;
  }

  async close(): Promise<void> {
    if (this.#state === 'open') this.#state = 'closing';
    // Waits repeatedly, because appends that arrive during a compaction start another drain.
    while (this.#working) await this.#working;
    if (this.#state !== 'closing') return;
    this.#state = 'down';
    try {
      await this.#file.seal();
    } catch (error) {
      const notice = 'the exact high-water mark could not be written; the next start goes on as after a crash';
      this.#options.onNotice(notice, error);
    }
  }

  abandon(): void {
    if (this.#state === 'down') return;
    this.#state = 'down';
    this.#fail(killed());
    if (!this.#working) this.#file.release();
  }

  get #step(): number {
    return this.#options.behaviour.log.idStep;
  }

  get #down(): boolean {
    return this.#state === 'down';
  }

  #work(): void {
    this.#working ??= this.#drain().finally(() => {
      this.#working = undefined;
      this.#file.busy = false;
      if (this.#down) this.#file.release();
      else if (this.#appends.length > 0 || this.#compactions.length > 0) this.#work();
    });
  }

  async #drain(): Promise<void> {
    this.#file.busy = true;
    await undefined; // lets appends of this tick share the first commit
    while (this.#appends.length > 0 && !this.#down) {
      const batch = this.#takeBatch();
      try {
        await this.#store(batch);
      } catch (error) {
        this.#appends.unshift(...batch);
        await this.#refuse(error);
        continue;
      }
      // Compacts before resolving the appends, so that publishers find the log within its limits.
      await this.#bound();
      for (const { events, resolve } of batch)
        resolve({ first: events[0]?.id ?? this.latest + 1, last: events.at(-1)?.id ?? this.latest });
    }
    while (this.#compactions.length > 0 && !this.#down) {
      const failure = await this.#keep(Math.floor(this.count * SHARE_KEPT));
      const compaction = this.#compactions.shift();
      if (failure) compaction?.reject(failure);
      else compaction?.resolve();
    }
  }

  #takeBatch(): Pending[] {
    let bytes = 0;
    let taken = 0;
    for (const { events } of this.#appends) {
      if (taken > 0 && bytes > 1_048_576) break;
      for (const { json } of events) bytes += json.length;
      taken += 1;
    }
    return this.#appends.splice(0, taken);
  }

  async #store(batch: readonly Pending[]): Promise<void> {
    const file = this.#file;
    const events = batch.length === 1 && batch[0] ? batch[0].events : batch.flatMap((pending) => pending.events);
    const [first, last] = [events[0], events.at(-1)];
    if (!first || !last) return;
    const rules = this.#options.behaviour.log;
    const lines = sealed(rules.lines(events));
    await rules.publish({
      store: async () => {
        if (this.#down) throw killed();
        await file.reserve(last.id);
        if (this.#down) throw killed();
        await file.write(lines, last.id);
        if (this.#down) throw killed();
      },
      commit: () => {
        const { generation } = this;
        generation.index.note(first.id, generation.bytes);
        generation.earliest ??= first.id;
        generation.bytes += lines.length;
        generation.latest = last.id;
      },
      deliver: () => this.#options.onStored(events),
    });
  }

  /** Rejects all waiting appends after a failed write, because their ids follow the failed ids. */
  async #refuse(error: unknown): Promise<void> {
    if (this.#down) return this.#fail(killed());
    const reason = `cannot store events in ${this.path}: ${error instanceof Error ? error.message : String(error)}`;
    this.#fail(new EventLogError(reason, { cause: error }));
    this.#next = this.latest + this.#step;
    this.#options.onNotice(reason, error);
    try {
      await this.#file.cutBack();
    } catch (also) {
      this.#options.onNotice(`cannot cut ${this.path} back to its last stored event`, also);
    }
  }

  #fail(error: Error): void {
    for (const { reject } of this.#appends.splice(0)) reject(error);
    if (this.#down) for (const { reject } of this.#compactions.splice(0)) reject(error);
  }

  async #bound(): Promise<void> {
    const { retain, retainBytes } = this.#options;
    const { bytes } = this.generation;
    const { count } = this;
    if (count <= retain && bytes <= retainBytes) return;
    const share = Math.min(1, (retainBytes * SHARE_KEPT) / bytes);
    await this.#keep(Math.min(Math.floor(retain * SHARE_KEPT), Math.floor(count * share)));
  }

  async #keep(events: number): Promise<CompactionError | undefined> {
    const { earliest, latest } = this;
    if (this.#down || this.generation.earliest === undefined) return undefined;
    const ids = latest + 1 - lowestOf(Math.max(1, events) * this.#step, latest, this.generation.gaps);
    const from = this.#options.behaviour.log.keepFrom({ earliest, latest, ids, step: this.#step });
    try {
      if (from > earliest) await this.#file.keep(from);
    } catch (error) {
      if (this.#down) return undefined;
      if (isFull(error) && events > 1) return await this.#keep(Math.floor(events / 4));
      const reason = `cannot compact ${this.path} (${errorCode(error) ?? error}); no event is lost`;
      this.#options.onNotice(reason, error);
      return new CompactionError(reason, { cause: error });
    }
    return undefined;
  }
}

const killed = (): EventLogError => new AgentDownError('the robot was killed before the event was stored');
