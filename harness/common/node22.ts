/** Adds the global AsyncDisposableStack, which Node 22 lacks, to every program that imports this file. */

class Stack {
  #entries: (() => unknown)[] = [];
  disposed = false;

  use<T extends AsyncDisposable | Disposable | null | undefined>(value: T): T {
    if (value !== null && value !== undefined) {
      const held: Partial<AsyncDisposable & Disposable> = value;
      this.defer(() => (held[Symbol.asyncDispose] ?? held[Symbol.dispose])?.call(value));
    }
    return value;
  }
  adopt<T>(value: T, onDispose: (value: T) => unknown): T {
    this.defer(() => onDispose(value));
    return value;
  }
  defer(onDispose: () => unknown): void {
    if (this.disposed) throw new ReferenceError('the stack is disposed of');
    this.#entries.push(onDispose);
  }
  move(): Stack {
    const moved = new Stack();
    moved.#entries = this.#entries;
    this.#entries = [];
    this.disposed = true;
    return moved;
  }
  async disposeAsync(): Promise<void> {
    if (this.disposed) return;
    this.disposed = true;
    const errors: unknown[] = [];
    for (const entry of this.#entries.splice(0).reverse()) {
      try {
        await entry();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1) throw new AggregateError(errors, 'not everything could be closed');
  }
  [Symbol.asyncDispose](): Promise<void> {
    return this.disposeAsync();
  }
}

if (!('AsyncDisposableStack' in globalThis)) Object.assign(globalThis, { AsyncDisposableStack: Stack });

export { Stack as AsyncDisposableStackOfNode22 };
