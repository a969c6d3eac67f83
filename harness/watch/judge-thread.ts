/** The thread that reads and judges what the tap saw, and records it: nothing here can hold up the traffic. */
import process from 'node:process';
import { type MessagePort, parentPort } from 'node:worker_threads';
import { type Glimpse, unpacked } from './batch.ts';
import { ConnectionReader } from './connection-reader.ts';
import type { Concluded, PlainJudged, TrafficJudge } from './judging.ts';
import type { Taking } from './traffic.ts';

export type ToThread = { kind: 'batch'; memory: ArrayBuffer; used: number } | { kind: 'conclude' };

export type FromThread =
  /** One batch. With the milliseconds of a processor that the thread has taken in all, where Node tells them. */
  | { kind: 'taken'; spentMs: number | undefined }
  | { kind: 'found'; id: string; judged: PlainJudged }
  | { kind: 'trouble'; why: string }
  | { kind: 'concluded'; concluded: Concluded };

/** What is made of the traffic beside judging it. */
export interface Keeping {
  take: Taking;
  /** Whatever was taken is to be safe. */
  flush(): void;
  close(): void;
}

/** Serves one judge to the thread that has started this one. `report` sends a message to that. */
export function serveJudge(
  made: (report: (message: FromThread) => void) => { judge: TrafficJudge; keeping?: Keeping },
  port: MessagePort | null = parentPort,
): void {
  const report = (message: FromThread): void => port?.postMessage(message);
  const { judge, keeping } = made(report);
  const readers = new Readers((traffic) => {
    // Kept first, so that what breaks the judge can be judged again.
    keeping?.take(traffic);
    judge.take(traffic);
    if (traffic.kind === 'closed' || traffic.kind === 'lost') readers.forget(traffic.connection);
  });
  port?.on('message', (message: ToThread) => {
    if (message.kind === 'batch') {
      for (const glimpse of unpacked(message.memory, message.used)) readers.take(glimpse);
      keeping?.flush();
      report({ kind: 'taken', spentMs: spentMs() });
      return;
    }
    readers.end();
    keeping?.close();
    report({ kind: 'concluded', concluded: { judged: judge.judged(), seen: judge.seen } });
  });
}

/** Older Nodes do not know it. */
function spentMs(): number | undefined {
  const usage = process.threadCpuUsage?.();
  return usage && (usage.user + usage.system) / 1000;
}

/** One reader for each connection. */
export class Readers {
  readonly #readers = new Map<number, ConnectionReader>();
  readonly #take: Taking;
  #exchanges = 0;
  #now = 0;

  constructor(take: Taking) {
    this.#take = take;
  }

  take(glimpse: Glimpse): void {
    const { connection, at } = glimpse;
    this.#now = at;
    if (glimpse.what === 'opened') {
      const number = (): number => ++this.#exchanges;
      this.#readers.set(connection, new ConnectionReader({ connection, number, take: this.#take }));
      this.#take({ kind: 'opened', at, connection });
    }
    const reader = this.#readers.get(connection);
    if (reader === undefined) return;
    if (glimpse.what === 'refused') this.#take({ kind: 'refused', at, connection, why: glimpse.why });
    try {
      glimpsed(glimpse, reader);
    } catch (error) {
      // It costs one connection, and is told with what else could not be judged.
      reader.lose(`a fault in Muster: ${error instanceof Error ? error.message : String(error)}`, at);
    }
  }

  forget(connection: number): void {
    this.#readers.delete(connection);
  }

  /** Nobody looks any more. */
  end(): void {
    for (const [connection, reader] of this.#readers) {
      reader.leave(this.#now);
      this.#readers.delete(connection);
    }
  }
}

function glimpsed(glimpse: Glimpse, reader: ConnectionReader): void {
  const { at } = glimpse;
  if (glimpse.what === 'bytes') reader.bytes(glimpse.from, glimpse.piece, at);
  else if (glimpse.what === 'ended') reader.ended(glimpse.from, glimpse.how, at);
  else if (glimpse.what === 'dropped') reader.lose('more came than could be judged in time', at);
  else if (glimpse.what === 'refused') reader.ended('server', 'cut', at);
}
