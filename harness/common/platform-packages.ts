/** Packages of Muster's platform, broker, uplinks and fleets, which checks do without. */

import { createRequire } from 'node:module';

export const PLATFORM_PACKAGES = ['aedes@1', 'fastify@5', 'mqtt@5', 'mqtt-packet@9'] as const;

export const ADD_PLATFORM_PACKAGES = `Run: npm install --save-dev ${PLATFORM_PACKAGES.join(' ')}`;

export const packageName = (wanted: string): string => wanted.replace(/@\d+$/, '');

export class MissingPackage extends Error {
  override name = 'MissingPackage';
  readonly code = 'MUSTER_PACKAGE';
}

/** Throws MissingPackage, which names the command that installs the packages. */
export function expectPlatformPackages(): void {
  const { resolve } = createRequire(import.meta.url);
  for (const name of PLATFORM_PACKAGES.map(packageName)) {
    try {
      resolve(name);
    } catch {
      const optional = "Muster's platform and fleets, and uplinks of its agents, need packages that checks do without";
      throw new MissingPackage(`${name} is not installed: ${optional}. ${ADD_PLATFORM_PACKAGES}`);
    }
  }
}
