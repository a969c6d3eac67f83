/** Folders for tests of a fleet. */

import { join } from 'node:path';
import { useScratch } from '../../common/testing/scratch.ts';

/** Gives each test an empty folder; the returned function makes paths in the folder. */
export function useFolder(): (...names: string[]) => string {
  const home = useScratch();
  return (...names) => join(home.path, ...names);
}
