/**
 * Learned answers: a refusal that nobody promises or forbids is learned at first sight, and expected from then on.
 */
export class Adoptions<Seen> {
  readonly #known = new Map<string, { answer: string; seen: Seen }>();

  /**
   * Learns the answer, or gives the earlier one that it contradicts. `asked`: the request and the state that it meets.
   */
  take(asked: string, answer: string, seen: Seen): { answer: string; seen: Seen } | undefined {
    const before = this.#known.get(asked);
    if (before === undefined) this.#known.set(asked, { answer, seen });
    return before === undefined || before.answer === answer ? undefined : before;
  }

  has(asked: string, answer: string): boolean {
    return this.#known.get(asked)?.answer === answer;
  }

  /** Learns the other answer once it has been a finding, so that it is none again. */
  replace(asked: string, answer: string, seen: Seen): void {
    this.#known.set(asked, { answer, seen });
  }
}
