/** Counts how often an exploration has tried each combination of values, e.g. of operation, version and key. */
import type { Draw } from './draw.ts';

export type Cell = Readonly<Record<string, string>>;

export class Cells {
  readonly #cells = new Map<string, number>();
  readonly #pairs = new Set<string>();

  visit(cell: Cell): void {
    const name = nameOf(cell);
    this.#cells.set(name, (this.#cells.get(name) ?? 0) + 1);
    for (const pair of pairsOf(cell)) this.#pairs.add(pair);
  }

  /** Picks the candidate with the most untried pairs of values, and among equals the least tried combination. */
  rarest<T>(draw: Draw, candidates: readonly [T, ...T[]], cellOf: (candidate: T) => Cell): T {
    const rated = candidates.map((candidate) => {
      const cell = cellOf(candidate);
      const fresh = pairsOf(cell).filter((pair) => !this.#pairs.has(pair)).length;
      const seen = this.#cells.get(nameOf(cell)) ?? 0;
      return { candidate, rate: fresh + 1 / (1 + seen) + draw.next() / 1000 };
    });
    return rated.reduce((best, one) => (one.rate > best.rate ? one : best)).candidate;
  }
}

const nameOf = (cell: Cell): string =>
  Object.keys(cell)
    .sort()
    .map((dimension) => `${dimension}=${cell[dimension]}`)
    .join(' ');

function pairsOf(cell: Cell): string[] {
  const values = nameOf(cell).split(' ');
  return values.flatMap((one, place) => values.slice(place + 1).map((other) => `${one} ${other}`));
}
