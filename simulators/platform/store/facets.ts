/** One column in memory, as small integers by row number, for filters and counts. */

/** The code of a row without a value; no filter selects it. */
const NONE = 0;

/** Codes by row number, and the values they stand for. */
export class Facet {
  readonly column: string;
  #codes = new Int32Array(1024);
  readonly #codeByValue = new Map<string, number>();
  readonly #values: (string | null)[] = [null];

  constructor(column: string) {
    this.column = column;
  }

  codeOf(row: number): number {
    return this.#codes[row] ?? NONE;
  }

  /** The code of a value; `undefined` when no row ever had it. */
  find(value: string): number | undefined {
    return this.#codeByValue.get(value);
  }

  /** Every value that some row has or had, sorted, with its code. */
  entries(): [value: string | null, code: number][] {
    const known = this.#values.map((value, code): [string | null, number] => [value, code]);
    return known.sort(([left], [right]) => compareText(left, right));
  }

  set(row: number, value: string | null): void {
    if (row >= this.#codes.length) {
      const grown = new Int32Array(Math.max(row + 1, this.#codes.length * 2));
      grown.set(this.#codes);
      this.#codes = grown;
    }
    this.#codes[row] = this.intern(value);
  }

  /** The code of a value, given to it now if it has none. */
  intern(value: string | null): number {
    if (value === null) return NONE;
    let code = this.#codeByValue.get(value);
    if (code === undefined) {
      code = this.#values.length;
      this.#values.push(value);
      this.#codeByValue.set(value, code);
    }
    return code;
  }
}

/** Nulls first, then by code unit, which is SQLite's binary collation for ASCII. */
export function compareText(left: string | null, right: string | null): number {
  if (left === right) return 0;
  if (left === null) return -1;
  if (right === null) return 1;
  return left < right ? -1 : 1;
}
