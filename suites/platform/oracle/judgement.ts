/** Compares an answer with what is known: counts every comparison, and collects the findings. */
import { askOf, type Exchange } from './exchange.ts';
import type { Found, What } from './found.ts';
import type { Model } from './model.ts';

/** Details of a finding. `certain` by default: the answer alone shows it. */
export type More = Partial<Pick<Found, 'kind' | 'isWritten' | 'member' | 'certain' | 'earlier' | 'id' | 'restsOn'>>;
/** Marks a difference that others may have caused. */
export const UNSURE = { certain: false } as const;
/** Formatted on demand, where that takes long. */
export type Words = string | (() => string);

export class Judgement {
  readonly found: Found[] = [];
  readonly #model: Model;
  readonly #exchange: Exchange;
  /** Words about the request, behind each path. */
  readonly #suffix: string;

  constructor(model: Model, exchange: Exchange, suffix = '') {
    this.#model = model;
    this.#exchange = exchange;
    this.#suffix = suffix;
  }

  hold(isSo: boolean, what: What, pointer: string, expected: Words, actual: unknown, more: More = {}): void {
    const exchange = this.#exchange;
    const { operation, version, key } = exchange;
    const { kind, isWritten } = more;
    const path = `${pointer}${this.#suffix}`;
    const cell = `${what} ${operation.id} ${version} ${key} ${path}${isWritten === true ? ' as written' : ''}`;
    const { looks } = this.#model;
    const looked = { what, path, kind, isWritten, exchange };
    const known = looks.get(cell) ?? { looked: { ...looked, exchange: askOf(exchange) }, count: 0 };
    known.count += 1;
    looks.set(cell, known);
    if (isSo) return;
    const words = typeof expected === 'string' ? expected : expected();
    this.found.push({ certain: true, ...more, ...looked, expected: words, actual });
  }
}
