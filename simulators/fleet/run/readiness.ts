/** What must work before a run begins: its folders, its metrics port, and the platform. */
import { existsSync, mkdirSync, mkdtempSync, rmdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { PlatformAddress } from '../platform/client.ts';
import { PlatformClient } from '../platform/client.ts';
import { PlatformFailure } from '../platform/failure.ts';
import { sendUntilTaken } from '../platform/set-up.ts';
import type { Exposed, Exposition } from '../report/exposition.ts';
import type { RunOptions } from './options.ts';

/** The machine is too small, or an option cannot be used. The message says what to change. */
export class PreflightError extends Error {
  override name = 'PreflightError';
}

/** Nobody answers at the platform's address. */
export class UnreachableError extends Error {
  override name = 'UnreachableError';
}

/** Creates the folders of a run. Throws PreflightError, and removes what it created, when it cannot write to one of them. */
export function createFolders({ dir, stateDir, out }: Pick<RunOptions, 'dir' | 'stateDir' | 'out'>): void {
  const folders = Object.entries({ ...(dir !== undefined && { dir }), state: stateDir, out });
  const created: string[] = [];
  for (const [option, folder] of folders) {
    try {
      for (const missing of missingFolders(folder)) {
        mkdirSync(missing);
        created.unshift(missing);
      }
      rmdirSync(mkdtempSync(join(folder, '.muster-')));
    } catch (error) {
      for (const own of created) rmdirSync(own);
      const { code, message } = error as NodeJS.ErrnoException;
      throw new PreflightError(
        `--${option}: cannot write to ${folder} (${code ?? message}); accepted: a writable folder, or one that can be created`,
      );
    }
  }
}

/** The missing folders of a path, outermost first. Not a recursive `mkdir`, which never returns where it may not create, as in /proc. */
function missingFolders(folder: string): string[] {
  return existsSync(folder) || dirname(folder) === folder ? [] : [...missingFolders(dirname(folder)), folder];
}

/** Time for a platform that resets connections or restarts. One that is merely busy shows later, in the result. */
const REACH_MS = 3000;

/** Checks that the platform answers and accepts the key, before minutes of generating keys. Missing scopes show later. */
export async function reachPlatform(address: PlatformAddress, signal: AbortSignal): Promise<void> {
  const client = new PlatformClient({ ...address, connections: 1 });
  try {
    await sendUntilTaken(() => client.listDevices(1, 0), { signal, limitMs: REACH_MS });
  } catch (error) {
    if (!(error instanceof PlatformFailure)) throw error;
    if (error.status === 0)
      throw new UnreachableError(`the platform cannot be reached at ${address.url}: ${error.message}`);
    if (error.status === 401) throw new PreflightError(`--api-key: the platform rejects it: ${error.message}`);
  } finally {
    await client.close();
  }
}

/** Serves the figures of a run for Prometheus. Rejects with PreflightError when it cannot listen. */
export async function serveMetrics(
  { port, host }: { port: number; host: string },
  { scenario, shard }: RunOptions,
  read: () => Exposed,
): Promise<Exposition> {
  const labels = { scenario: scenario.name, ...(shard !== undefined && { shard: `${shard.index}/${shard.count}` }) };
  // Loaded on demand: most runs have none.
  const { expose } = await import('../report/exposition.ts');
  try {
    return await expose({ port, host, labels, read });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const option = code === 'EADDRINUSE' || code === 'EACCES' ? '--metrics-port' : '--metrics-port, --metrics-host';
    throw new PreflightError(`${option}: cannot listen on ${host}:${port} (${code ?? message}); 0 takes any free port`);
  }
}
