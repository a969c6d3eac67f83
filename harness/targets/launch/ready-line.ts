/** The line on standard output by which a target says that it serves, and where. */

const MOST_BYTES = 65_536;

/** Finds the first line that is a JSON object with `"ready":true`, in whatever pieces it comes; holds one line at a time. */
export class ReadyLine {
  #line: Buffer[] = [];
  #bytes = 0;
  #found: Readonly<Record<string, unknown>> | undefined;

  /** The object; undefined until it came. */
  get found(): Readonly<Record<string, unknown>> | undefined {
    return this.#found;
  }

  add(output: Buffer): void {
    for (let from = 0; this.#found === undefined && from < output.length; ) {
      const end = output.indexOf(10, from);
      this.#keep(output.subarray(from, end === -1 ? output.length : end));
      if (end === -1) return;
      this.#found = readyObject(Buffer.concat(this.#line).toString('utf8'));
      this.#line = [];
      this.#bytes = 0;
      from = end + 1;
    }
  }

  /** Of a line that is too long, the beginning: it is no object then. */
  #keep(piece: Buffer): void {
    const kept = piece.subarray(0, MOST_BYTES - this.#bytes);
    if (kept.length === 0) return;
    this.#line.push(kept);
    this.#bytes += kept.length;
  }
}

function readyObject(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const value = JSON.parse(line) as Record<string, unknown>;
    return value['ready'] === true ? value : undefined;
  } catch {
    return undefined;
  }
}
