/** One run of a client: its shell line in a process group of its own, and its standard output by lines. */
import { StringDecoder } from 'node:string_decoder';
import { ProcessGroup } from '../launch/process-group.ts';
import { lastLines } from '../launch/started.ts';
import type { ClientEars, ClientRun } from '../opened.ts';

/** A client holds nothing that is lost when it is killed. */
const GRACE_MS = 2000;
/** Characters of one line; of a longer one the rest is dropped. */
const LONGEST_LINE = 32 * 1024 * 1024;

/** Starts it. Never throws: a line that cannot be started ends at once. */
export function startClientProcess(
  line: string,
  env: Readonly<Record<string, string | undefined>>,
  { line: heard, ended }: ClientEars,
): ClientRun {
  const lines = new Lines(heard);
  const group = new ProcessGroup(line, env, { graceMs: GRACE_MS, onStdout: (output) => lines.add(output) });
  void group.ended.then(() => {
    lines.end();
    ended();
  });
  return {
    get how() {
      const how = group.endedByItself;
      return how === undefined ? undefined : `${how}${lastLines(group.stderr)}`;
    },
    get code() {
      return group.code;
    },
    get diagnostics() {
      return group.stderr;
    },
    stop: () => group.stop(),
  };
}

/** Puts output together to lines. */
class Lines {
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
