/** Before a run begins: the folders it writes to, and whether anybody is at the platform's address. */
import { existsSync, mkdirSync, mkdtempSync, rmdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { PlatformAddress } from '../host/host.ts';
import { PlatformClient, PlatformFailure } from '../platform/client.ts';

/** The machine can't hold the fleet, or an option can't be used; the message says what to change. */
export class PreflightError extends Error {
  override name = 'PreflightError';
}

/** Nobody answers at the platform's address. */
export class UnreachableError extends Error {
  override name = 'UnreachableError';
}

/** Makes each folder, by the option that names it. Throws PreflightError, and leaves none, when one can't be written to. */
export function claimFolders(folders: readonly (readonly [option: string, folder: string])[]): void {
  const made: string[] = [];
  for (const [option, folder] of folders) {
    try {
      for (const missing of missingOf(folder)) {
        mkdirSync(missing);
        made.unshift(missing);
      }
      rmdirSync(mkdtempSync(join(folder, '.muster-')));
    } catch (error) {
      for (const own of made) rmdirSync(own);
      const { code, message } = error as NodeJS.ErrnoException;
      throw new PreflightError(
        `--${option}: cannot write to ${folder} (${code ?? message}); accepted: a folder that can be made or written to`,
      );
    }
  }
}

/** What must be made, outermost first. Not left to a recursive `mkdir`, which never ends where nothing can be made, as in /proc. */
function missingOf(folder: string): string[] {
  return existsSync(folder) || dirname(folder) === folder ? [] : [...missingOf(dirname(folder)), folder];
}

/** Before minutes of making keys: does anyone answer, and take the key? A lack of scopes shows when they are needed. */
export async function reach(address: PlatformAddress): Promise<void> {
  const client = new PlatformClient({ ...address, connections: 1 });
  try {
    await client.listDevices(1, 0);
  } catch (error) {
    if (!(error instanceof PlatformFailure)) throw error;
    if (error.status === 0)
      throw new UnreachableError(`the platform cannot be reached at ${address.url}: ${error.message}`);
    if (error.status === 401) throw new PreflightError(`--api-key: the platform does not take it: ${error.message}`);
  } finally {
    await client.close();
  }
}
