/** Holds an answer to what is known: all that is looked at is counted, and what does not agree is found. */
import { askOf, type Exchange } from './exchange.ts';
import type { Found, Looked } from './found.ts';
import type { Model } from './model.ts';

export type About = Omit<Looked, 'exchange'> & Partial<Pick<Found, 'certain' | 'earlier' | 'id' | 'restsOn'>>;
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

  /** `certain` unless it says otherwise: the answer alone shows it. */
  hold(isSo: boolean, given: About, expected: Words, actual: unknown): void {
    const about = { ...given, path: `${given.path}${this.#suffix}` };
    const { what, path, kind, isWritten } = about;
    const { operation, version, key } = this.#exchange;
    const cell = `${what} ${operation.id} ${version} ${key} ${path}${isWritten === true ? ' as written' : ''}`;
    const known = this.#model.looks.get(cell);
    if (known === undefined)
      this.#model.looks.set(cell, {
        looked: { what, path, kind, isWritten, exchange: askOf(this.#exchange) },
        count: 1,
      });
    else known.count += 1;
    if (isSo) return;
    const words = typeof expected === 'string' ? expected : expected();
    this.found.push({ certain: true, ...about, exchange: this.#exchange, expected: words, actual });
  }
}
