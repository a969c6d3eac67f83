/** A directory of its own for a test, removed at its end. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Scratch extends Disposable {
  readonly path: string;
}

export function scratch(): Scratch {
  const path = mkdtempSync(join(tmpdir(), 'muster-device-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
