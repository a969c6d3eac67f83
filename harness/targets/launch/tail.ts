/** The end of what a program writes. */

const CHARACTERS = 4000;

export class Tail {
  readonly #limit: number;
  #kept = '';
  #cut = false;

  constructor(limit: number = CHARACTERS) {
    this.#limit = limit;
  }

  add(text: string): void {
    const all = this.#kept + text;
    this.#cut ||= all.length > this.#limit;
    this.#kept = all.slice(-this.#limit);
  }

  /** The mark tells the reader, and a redactor, that the beginning is missing. */
  get text(): string {
    return this.#cut ? `…${this.#kept}` : this.#kept;
  }
}
