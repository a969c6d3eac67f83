/** Events with ids that follow each other, so many that none is kept. */
import type { SentEvent } from '../../../harness/contract/situations/events.ts';

export class Sequence {
  #last: number;
  #wrong: string | undefined;

  /** `last`: id of the event before the first one. */
  constructor(last: number) {
    this.#last = last;
  }

  /** Id of the last one that came in order. */
  get last(): number {
    return this.#last;
  }

  /** The first one that came out of order, in words. */
  get wrong(): string | undefined {
    return this.#wrong;
  }

  take({ id }: Pick<SentEvent, 'id'>): void {
    if (this.#wrong !== undefined) return;
    if (id === String(this.#last + 1)) this.#last += 1;
    else this.#wrong = `event ${id} after event ${this.#last}`;
  }
}
