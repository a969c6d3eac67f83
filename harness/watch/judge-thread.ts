/** Thread that parses, judges and records watched traffic without delaying it. */
import { readlinkSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { basename } from 'node:path';
import process from 'node:process';
import { type MessagePort, parentPort } from 'node:worker_threads';
import { clipped } from '../common/http-parser.ts';
import type { Requirement } from '../runner/types.ts';
import { type Observation, observationsIn } from './batch.ts';
import { ConnectionReader } from './connection-reader.ts';
import type { Concluded, PlainJudged, Seen, TrafficJudge } from './judging.ts';
import type { TakeTraffic, Traffic } from './traffic.ts';

export type ToThread =
  | { kind: 'batch'; memory: ArrayBuffer; used: number }
  | { kind: 'traffic'; traffic: readonly Traffic[] }
  | { kind: 'conclude' };

export type FromThread =
  /**
   * Confirms a message. `spentMs`: milliseconds of the thread's processor time, if Node reports it; `broken`:
   * violations by check id.
   */
  | { kind: 'taken'; spentMs: number | undefined; broken?: Readonly<Record<string, number>> }
  | { kind: 'found'; id: string; judged: PlainJudged; requirement?: Pick<Requirement, 'level' | 'text'> }
  | { kind: 'trouble'; why: string }
  | { kind: 'live'; live: LiveFigures }
  | { kind: 'concluded'; concluded: Concluded };

export interface LiveFigures {
  seen: Seen;
  decided: number;
}

export interface RecordingSink {
  take: TakeTraffic;
  flush(): void;
  close(): void;
}

export function serveJudge(
  made: (report: (message: FromThread) => void) => { judge: TrafficJudge; keeping?: RecordingSink; isShown?: boolean },
  port: MessagePort | null = parentPort,
): void {
  yieldToTraffic();
  const report = (message: FromThread): void => port?.postMessage(message);
  const { judge, keeping, isShown = false } = made(report);
  const serving = new Serving(judge, keeping);
  const tell = (): void => report({ kind: 'live', live: { seen: judge.seen, decided: judge.decided } });
  const telling = isShown ? setInterval(tell, 500) : undefined;
  let isOver = false;
  port?.on('message', (message: ToThread) => {
    // Drops messages after the end, because the recording is closed.
    if (isOver) return;
    if (message.kind === 'conclude') {
      isOver = true;
      clearInterval(telling);
      serving.end();
      if (isShown) tell();
      report({ kind: 'concluded', concluded: { judged: judge.judged(), seen: judge.seen } });
    } else if (message.kind === 'batch') {
      serving.take(message);
      report({ kind: 'taken', spentMs: spentMs() });
    } else {
      try {
        for (const each of message.traffic) judge.take(each);
      } catch (error) {
        report({ kind: 'trouble', why: `an exchange could not be judged: ${String(error)}` });
      }
      report({ kind: 'taken', spentMs: spentMs(), broken: judge.broken });
    }
  });
}

function yieldToTraffic(): void {
  try {
    const thread = Number(basename(readlinkSync('/proc/thread-self')));
    setPriority(thread, Math.min(19, getPriority(thread) + 5));
  } catch {
    // Systems other than Linux have no priority by thread.
  }
}

/** Records traffic before judging, so that traffic that breaks the judge can be replayed. */
class Serving {
  readonly #judge: TrafficJudge;
  readonly #keeping: RecordingSink | undefined;
  readonly #readers = new Readers((traffic) => this.#read(traffic));
  #pending: { traffic: Traffic; connection: number }[] = [];
  #bytes = 0;

  constructor(judge: TrafficJudge, keeping: RecordingSink | undefined) {
    this.#judge = judge;
    this.#keeping = keeping;
  }

  take({ memory, used }: { memory: ArrayBuffer; used: number }): void {
    for (const glimpse of observationsIn(memory, used)) this.#readers.take(glimpse);
    this.#settle();
  }

  end(): void {
    this.#readers.end();
    this.#settle();
    this.#keeping?.close();
  }

  #read(traffic: Traffic): void {
    this.#judge.learn(traffic);
    this.#keeping?.take(traffic);
    this.#pending.push({ traffic, connection: this.#readers.current });
    this.#bytes += 'body' in traffic ? (traffic.body?.text?.length ?? 0) : 0;
    if (traffic.kind === 'closed' || traffic.kind === 'lost') this.#readers.forget(traffic.connection);
    if (this.#bytes > 8 * 1024 * 1024) this.#settle();
  }

  #settle(): void {
    this.#keeping?.flush();
    const pending = this.#pending;
    this.#pending = [];
    this.#bytes = 0;
    for (const { traffic, connection } of pending) {
      try {
        this.#judge.take(traffic);
      } catch (error) {
        this.#readers.fault(connection, error, traffic.at);
      }
    }
    if (this.#pending.length > 0) this.#settle();
  }
}

/** Undefined in older versions of Node. */
function spentMs(): number | undefined {
  const usage = process.threadCpuUsage?.();
  return usage && (usage.user + usage.system) / 1000;
}

export class Readers {
  readonly #readers = new Map<number, { reader: ConnectionReader; held: number }>();
  readonly #take: TakeTraffic;
  readonly #most: number;
  held = 0;
  #exchanges = 0;
  #now = 0;
  current = 0;

  constructor(take: TakeTraffic, most = 64 * 1024 * 1024) {
    this.#take = take;
    this.#most = most;
  }

  take(glimpse: Observation): void {
    const { connection, at } = glimpse;
    this.#now = at;
    this.current = connection;
    if (glimpse.what === 'opened') {
      const number = (): number => ++this.#exchanges;
      const reader = new ConnectionReader({ connection, number, take: this.#take });
      this.#readers.set(connection, { reader, held: 0 });
      this.#take({ kind: 'opened', at, connection });
    }
    const reader = this.#readers.get(connection)?.reader;
    if (reader === undefined) return;
    if (glimpse.what === 'refused') this.#take({ kind: 'refused', at, connection, why: glimpse.why });
    try {
      if (glimpse.what === 'bytes') reader.bytes(glimpse.from, glimpse.piece, at);
      else if (glimpse.what === 'ended') reader.ended(glimpse.from, glimpse.how, at);
      else if (glimpse.what === 'dropped') reader.lose('more came than could be judged in time', at);
      else if (glimpse.what === 'refused') reader.ended('server', 'cut', at);
    } catch (error) {
      this.fault(connection, error, at);
    }
    const known = this.#readers.get(connection);
    if (known !== undefined) {
      this.held += reader.held - known.held;
      known.held = reader.held;
    }
    while (this.held > this.#most) this.#loseLargest(at);
  }

  fault(connection: number, error: unknown, at: number): void {
    const why = error instanceof Error ? error.message : String(error);
    this.current = connection;
    this.#readers.get(connection)?.reader.lose(clipped(`a fault in Muster: ${why}`), at);
  }

  forget(connection: number): void {
    this.held -= this.#readers.get(connection)?.held ?? 0;
    this.#readers.delete(connection);
  }

  end(): void {
    for (const [connection, { reader }] of this.#readers) {
      this.current = connection;
      reader.leave(this.#now);
      this.forget(connection);
    }
  }

  #loseLargest(at: number): void {
    let largest: { connection: number; held: number } | undefined;
    for (const [connection, { held }] of this.#readers)
      if (largest === undefined || held > largest.held) largest = { connection, held };
    const { connection } = largest ?? { connection: this.current };
    this.current = connection;
    this.#readers.get(connection)?.reader.lose(`unfinished messages took more than ${this.#most} bytes together`, at);
    this.forget(connection);
  }
}
