/** What a client writes: its standard output by lines, whatever the pieces in which it comes, and the end of its standard error. */
import { StringDecoder } from 'node:string_decoder';
import { lastLines } from '../launch/started.ts';

/** Characters of one line; of a longer one the rest is dropped. */
const LONGEST_LINE = 32 * 1024 * 1024;

export class Lines {
  readonly #heard: (text: string) => void;
  readonly #decoder = new StringDecoder('utf8');
  #pieces: string[] = [];
  #length = 0;

  constructor(heard: (text: string) => void) {
    this.#heard = heard;
  }

  add(output: Buffer): void {
    const [first = '', ...more] = this.#decoder.write(output).split('\n');
    this.#keep(first);
    for (const piece of more) {
      this.#flush();
      this.#keep(piece);
    }
  }

  /** What has no line end is a line too. */
  end(): void {
    if (this.#length > 0) this.#flush();
  }

  #keep(piece: string): void {
    const kept = piece.slice(0, LONGEST_LINE - this.#length);
    if (kept === '') return;
    this.#pieces.push(kept);
    this.#length += kept.length;
  }

  #flush(): void {
    const line = this.#pieces.join('');
    this.#pieces = [];
    this.#length = 0;
    this.#heard(line);
  }
}

/** The last lines of its standard error, as the end of a message; of its standard output each line is known already. */
export const complaintsIn = (stderr: string): string => (stderr.trim() === '' ? '' : lastLines(stderr));
