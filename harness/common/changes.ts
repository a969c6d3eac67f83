/** Lets several waiters look again whenever something has changed. */
export class Changes {
  readonly #waiting = new Set<() => void>();

  /** Wakes everyone who waits. */
  announce(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** Resolves at the next change, or after `withinMs` milliseconds. */
  next(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, Math.max(0, withinMs));
      this.#waiting.add(wake);
    });
  }
}
