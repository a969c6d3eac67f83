/** What a device's event stream says while control drives the device by other means; survives restarts of the agent. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpClient } from '../../client/http.ts';
import { type EventStream, openEvents } from '../../client/sse.ts';
import { parseExact } from './exact.ts';

export interface WatchedEvent {
  id: number | bigint;
  type: string;
  deploymentId: string | undefined;
}

const AGAIN_MS = 100;
/** Longer than a heartbeat, so that only a dead connection is taken for one. */
const SILENCE_MS = 120_000;

export class EventWatch implements AsyncDisposable {
  readonly #http: HttpClient;
  readonly #over = new AbortController();
  readonly #waiting = new Set<() => void>();
  #events: WatchedEvent[] = [];
  #stream: EventStream | undefined;
  #opened = false;
  #loop: Promise<void> | undefined;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** Resolves when the stream is open, so that nothing that happens later is missed. */
  async start(withinMs: number): Promise<void> {
    this.#loop ??= this.#follow();
    await this.#when(() => this.#opened || undefined, withinMs);
  }

  /** Number of events seen so far; a mark for `since`. */
  get mark(): number {
    return this.#events.length;
  }

  since(mark: number): WatchedEvent[] {
    return this.#events.slice(mark);
  }

  /** The first such event after `mark`; undefined when none comes in time. */
  until(fits: (event: WatchedEvent) => boolean, mark: number, withinMs: number): Promise<WatchedEvent | undefined> {
    return this.#when(() => this.since(mark).find(fits), withinMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#stream?.close();
    await this.#loop;
  }

  async #follow(): Promise<void> {
    let cursor: number | bigint | undefined;
    while (!this.#over.signal.aborted) {
      try {
        const stream = await openEvents(this.#http, cursor === undefined ? {} : { after: cursor });
        this.#stream = stream;
        // A cursor that was compacted away: what was missed cannot be had, what comes can.
        if (stream.status === 410) cursor = undefined;
        if (stream.status !== 200) throw new Error(`the event stream answered ${stream.status}`);
        this.#opened = true;
        this.#wake();
        for (;;) {
          const event = parse((await stream.next({ within: SILENCE_MS, for: 'an event' })).data);
          if (event === undefined) continue;
          cursor = event.id;
          this.#events.push(event);
          this.#wake();
        }
      } catch {
        await this.#stream?.close().catch(() => {});
        // Down, going down, or not up yet: the next connection goes on from the cursor.
        await sleep(AGAIN_MS, undefined, { signal: this.#over.signal }).catch(() => {});
      }
    }
  }

  #wake(): void {
    for (const look of [...this.#waiting]) look();
  }

  #when<T>(look: () => T | undefined, withinMs: number): Promise<T | undefined> {
    return new Promise((resolve) => {
      const done = (value: T | undefined): void => {
        clearTimeout(timer);
        this.#waiting.delete(again);
        resolve(value);
      };
      const again = (): void => {
        const found = look();
        if (found !== undefined) done(found);
      };
      const timer = setTimeout(() => done(undefined), withinMs);
      this.#waiting.add(again);
      again();
    });
  }
}

function parse(text: string | undefined): WatchedEvent | undefined {
  if (text === undefined) return undefined;
  try {
    const { id, type, data } = parseExact(text) as { id?: unknown; type?: unknown; data?: { deployment_id?: unknown } };
    if ((typeof id !== 'number' && typeof id !== 'bigint') || typeof type !== 'string') return undefined;
    return { id, type, deploymentId: typeof data?.deployment_id === 'string' ? data.deployment_id : undefined };
  } catch {
    return undefined;
  }
}
