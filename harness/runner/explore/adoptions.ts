/** Remembers answers that the specification leaves open, and expects the same answers later. */
export class Adoptions<Seen> {
  readonly #known = new Map<string, { answer: string; seen: Seen }>();

  /** Returns the earlier answer if the new answer contradicts it. `asked`: request and state of the target. */
  take(asked: string, answer: string, seen: Seen): { answer: string; seen: Seen } | undefined {
    const before = this.#known.get(asked);
    if (before === undefined) this.#known.set(asked, { answer, seen });
    return before === undefined || before.answer === answer ? undefined : before;
  }

  has(asked: string, answer: string): boolean {
    return this.#known.get(asked)?.answer === answer;
  }

  /** Keeps the new answer after a finding, so that the finding is reported once. */
  replace(asked: string, answer: string, seen: Seen): void {
    this.#known.set(asked, { answer, seen });
  }
}
