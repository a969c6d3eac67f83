/** Remembers the target's answers where the specification allows several, and detects later contradictions. */
export class Adoptions<Seen> {
  readonly #known = new Map<string, { answer: string; seen: Seen }>();

  /** Returns the earlier answer to the same request in the same state (`asked`), if the new answer differs. */
  take(asked: string, answer: string, seen: Seen): { answer: string; seen: Seen } | undefined {
    const before = this.#known.get(asked);
    if (before === undefined) this.#known.set(asked, { answer, seen });
    return before === undefined || before.answer === answer ? undefined : before;
  }

  has(asked: string, answer: string): boolean {
    return this.#known.get(asked)?.answer === answer;
  }

  /** Replaces the remembered answer after a finding, so that the same finding is not reported again. */
  replace(asked: string, answer: string, seen: Seen): void {
    this.#known.set(asked, { answer, seen });
  }
}
