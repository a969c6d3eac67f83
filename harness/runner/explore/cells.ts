/**
 * What an exploration has asked of all that it could ask: a cell has one value in each of its dimensions, such as
 * operation, version and key. Cells are generated and counted, nobody writes them down.
 */
import type { Draw } from './draw.ts';

export type Cell = Readonly<Record<string, string>>;

export class Cells {
  readonly #cells = new Map<string, number>();
  readonly #pairs = new Map<string, number>();

  visit(cell: Cell): void {
    count(this.#cells, nameOf(cell));
    for (const pair of pairsOf(cell)) count(this.#pairs, pair);
  }

  /** How many different cells were visited; with values, those that have them. */
  visited(having: Cell = {}): number {
    const values = Object.entries(having).map(([dimension, value]) => `${dimension}=${value}`);
    return [...this.#cells.keys()].filter((name) => values.every((value) => name.split(' ').includes(value))).length;
  }

  get pairs(): number {
    return this.#pairs.size;
  }

  /** The candidate of the most pairs that were not visited, and of the rarest cell among several. */
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

const count = (counts: Map<string, number>, name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
