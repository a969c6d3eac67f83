/** A private folder for one subject. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Removed when disposed of. Short, since socket paths are. */
export function scratch(): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), 'muster-matrix-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
