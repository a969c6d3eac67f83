/** What server and client did, in words, with the time of each. */

/** Lines that are kept: of a long situation the first ones and the last ones. */
const FIRST = 4;
const LAST = 40;
/** Characters of one line, and of all that a finding shows. */
const WIDTH = 200;
const SHOWN = 1800;

export class Timeline {
  readonly #started = performance.now();
  readonly #first: string[] = [];
  readonly #last: string[] = [];
  #lines = 0;

  tell(who: 'client' | 'server' | 'muster', what: string): void {
    const seconds = ((performance.now() - this.#started) / 1000).toFixed(3);
    const line = `${seconds} s  ${who}: ${what}`;
    this.#lines += 1;
    const kept = this.#first.length < FIRST ? this.#first : this.#last;
    kept.push(line.length <= WIDTH ? line : `${line.slice(0, WIDTH)}…`);
    if (this.#last.length > LAST) this.#last.shift();
  }

  printed(line: string): void {
    this.tell('client', `prints ${line}`);
  }

  /** The first lines, and as many of the last ones as a finding has room for: it is about those. */
  get text(): string {
    let room = SHOWN - this.#first.join('\n').length;
    const end = this.#last.toReversed().filter((line) => {
      room -= line.length + 1;
      return room >= 0;
    });
    const left = this.#lines - this.#first.length - end.length;
    return [...this.#first, ...(left > 0 ? [`… ${left} more`] : []), ...end.toReversed()].join('\n');
  }
}
