/** Compares an answer with known records: counts comparisons and collects findings. */

import type { Difference, DifferenceKind } from './differences.ts';
import { askOf, type Exchange } from './exchange.ts';
import type { Model } from './model.ts';

/** Details of a finding; `certain` means that the answer alone proves the finding, and defaults to true. */
export type More = Partial<
  Pick<Difference, 'kind' | 'isWritten' | 'member' | 'certain' | 'earlier' | 'id' | 'restsOn'>
>;
/** Marks a finding as uncertain, because other clients may have caused the difference. */
export const UNSURE = { certain: false } as const;
/** Text of a finding, or a function that formats the text only if needed. */
export type Words = string | (() => string);

export class Judgement {
  readonly found: Difference[] = [];
  readonly #model: Model;
  readonly #exchange: Exchange;
  readonly #suffix: string;

  constructor(model: Model, exchange: Exchange, suffix = '') {
    this.#model = model;
    this.#exchange = exchange;
    this.#suffix = suffix;
  }

  hold(
    isRight: boolean,
    what: DifferenceKind,
    pointer: string,
    expected: Words,
    actual: unknown,
    more: More = {},
  ): void {
    const exchange = this.#exchange;
    const { operation, version, key } = exchange;
    const { kind, isWritten } = more;
    const path = `${pointer}${this.#suffix}`;
    const cell = `${what} ${operation.id} ${version} ${key} ${path}${isWritten === true ? ' as written' : ''}`;
    const { comparisons } = this.#model;
    const comparison = { what, path, kind, isWritten, exchange };
    const known = comparisons.get(cell) ?? { comparison: { ...comparison, exchange: askOf(exchange) }, count: 0 };
    known.count += 1;
    comparisons.set(cell, known);
    if (isRight) return;
    const words = typeof expected === 'string' ? expected : expected();
    this.found.push({ certain: true, ...more, ...comparison, expected: words, actual });
  }
}
