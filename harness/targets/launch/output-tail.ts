/** The end of what a program writes, for messages about it. */

const CHARACTERS = 4000;
const LAST_LINES = 15;

/** Keeps the last characters of a text that comes in pieces. */
export class OutputTail {
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

  /** The mark tells the reader, and the redactor, that the beginning is missing. */
  get text(): string {
    return this.#cut ? `…${this.#kept}` : this.#kept;
  }
}

/** The last lines of `output` as the end of a message. */
export function lastLines(output: string): string {
  const lines = output.trim().split('\n').slice(-LAST_LINES).join('\n');
  return lines === '' ? '; it wrote nothing' : `; the last lines that it wrote:\n${lines}`;
}
