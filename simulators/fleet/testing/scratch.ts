import { join } from 'node:path';
import { useScratch } from '../../common/testing/scratch.ts';

export function useFolder(): (...names: string[]) => string {
  const home = useScratch();
  return (...names) => join(home.path, ...names);
}
