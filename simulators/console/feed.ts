/** Live data for pages over server-sent events: first the whole document, then changes. */
import type { ServerResponse } from 'node:http';
import { type Change, changed, type Message } from './page/document.ts';

export class Feed<D extends object> implements Disposable {
  document: Readonly<D>;
  #pending: Change[] = [];
  #timer: NodeJS.Timeout | undefined;
  readonly #pages = new Set<ServerResponse>();
  readonly #refresh: () => void;

  constructor(document: D, refresh: () => void = () => {}) {
    this.document = document;
    this.#refresh = refresh;
  }

  get pages(): number {
    return this.#pages.size;
  }

  change(...changes: readonly Change[]): void {
    this.document = changed(this.document, changes);
    this.#pending.push(...changes);
    this.#timer ??= setTimeout(() => this.#flush(), 50).unref();
  }

  set(members: Partial<D>): void {
    const known = this.document as Record<string, unknown>;
    const changes = Object.entries(members).flatMap(([name, to]) =>
      JSON.stringify(known[name]) === JSON.stringify(to) ? [] : [{ set: name, to }],
    );
    if (changes.length > 0) this.change(...changes);
  }

  follow(response: ServerResponse): void {
    this.#refresh();
    this.#flush();
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
    response.write('retry: 500\n\n');
    response.write(frameOf({ whole: this.document }));
    this.#pages.add(response);
    const beat = setInterval(() => response.write(':\n\n'), 10_000).unref();
    response.once('close', () => {
      clearInterval(beat);
      this.#pages.delete(response);
    });
  }

  [Symbol.dispose](): void {
    this.#flush();
    for (const page of this.#pages) page.end('event: end\ndata: {}\n\n');
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#pending.length === 0) return;
    const frame = frameOf({ changes: this.#pending.splice(0) });
    for (const page of this.#pages) {
      if (page.writableLength > 8_000_000) page.destroy();
      else page.write(frame);
    }
  }
}

const frameOf = (message: Message): string => `data: ${JSON.stringify(message)}\n\n`;
