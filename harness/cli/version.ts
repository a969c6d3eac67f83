import { readFileSync } from 'node:fs';

const PACKAGE = readPackage();

export const VERSION: string = PACKAGE.version ?? '0.0.0';

export const OLDEST_NODE: string = PACKAGE.engines?.node?.replace('>=', '') ?? '0';

function readPackage(): { version?: string; engines?: { node?: string } } {
  for (const place of ['../../package.json', '../../../package.json']) {
    try {
      const found = JSON.parse(readFileSync(new URL(place, import.meta.url), 'utf8')) as typeof PACKAGE & {
        name?: string;
      };
      if (found.name === 'muster-conformance') return found;
    } catch {
      // Ignores a missing file, because compiled modules lie one folder deeper.
    }
  }
  return {};
}
