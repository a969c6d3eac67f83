/** Copies of a platform's whole state under names, in a folder of their own that is removed with them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PlatformError } from '../ports.ts';
import type { Store } from '../store/store.ts';

export class Snapshots implements Disposable {
  readonly #store: Store;
  readonly #folder = mkdtempSync(join(tmpdir(), 'muster-snapshots-'));
  readonly #files = new Map<string, string>();
  #last = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  get names(): string[] {
    return [...this.#files.keys()];
  }

  /** Replaces a snapshot of the same name. */
  take(name: string): void {
    const file = join(this.#folder, `${++this.#last}.db`);
    this.#store.saveTo(file);
    const before = this.#files.get(name);
    this.#files.set(name, file);
    if (before !== undefined) rmSync(before);
  }

  /** Throws PlatformError 404. */
  restore(name: string): void {
    this.#store.restoreFrom(this.#fileOf(name));
  }

  /** Throws PlatformError 404. */
  remove(name: string): void {
    rmSync(this.#fileOf(name));
    this.#files.delete(name);
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #fileOf(name: string): string {
    const file = this.#files.get(name);
    if (file !== undefined) return file;
    const known = this.names.map((each) => JSON.stringify(each)).join(', ') || 'none';
    throw new PlatformError(
      404,
      'snapshot_not_found',
      `there is no snapshot ${JSON.stringify(name)}; there are: ${known}`,
    );
  }
}
