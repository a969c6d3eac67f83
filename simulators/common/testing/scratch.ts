/** A temporary directory for one test. For tests only. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Removed with everything in it when it is disposed of. */
export interface Scratch extends Disposable {
  readonly path: string;
}

/** Makes a temporary directory, in `parent` where one is given. */
export function scratch(parent = tmpdir()): Scratch {
  const path = mkdtempSync(join(parent, 'muster-test-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
