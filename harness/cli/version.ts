import { readFileSync } from 'node:fs';

interface Manifest {
  version?: string;
  engines?: { node?: string };
  peerDependencies?: Record<string, string>;
}

const PACKAGE = readPackage();

export const VERSION: string = PACKAGE.version ?? '0.0.0';

export const OLDEST_NODE: string = PACKAGE.engines?.node?.replace('>=', '') ?? '0';

const { testcontainers, vitest, ...platformPackages } = PACKAGE.peerDependencies ?? {};

/**
 * Packages with their majors, e.g. `fastify@5`, of Muster's own platform, its broker and fleets; checks do without
 * them, and npm installs them only where they are asked for.
 */
export const PLATFORM_PACKAGES: readonly string[] = Object.entries(platformPackages).map(
  ([name, range]) => `${name}@${/\d+/.exec(range)?.[0]}`,
);

export const ADD_PLATFORM_PACKAGES = `Run: npm install --save-dev ${PLATFORM_PACKAGES.join(' ')}`;

function readPackage(): Manifest {
  for (const place of ['../../package.json', '../../../package.json']) {
    try {
      const found = JSON.parse(readFileSync(new URL(place, import.meta.url), 'utf8')) as Manifest & { name?: string };
      if (found.name === 'muster-conformance') return found;
    } catch {
      // Tries the next place, because compiled modules lie one folder deeper.
    }
  }
  return {};
}
