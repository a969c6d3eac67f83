import { readFileSync } from 'node:fs';

/**
 * Muster's own version, from the package it runs from: beside the sources in a checkout, one level up when compiled.
 */
export const VERSION: string = readVersion();

function readVersion(): string {
  for (const place of ['../../package.json', '../../../package.json']) {
    try {
      const { name, version } = JSON.parse(readFileSync(new URL(place, import.meta.url), 'utf8')) as {
        name?: string;
        version?: string;
      };
      if (name === 'muster-conformance' && version !== undefined) return version;
    } catch {
      // Not at this place.
    }
  }
  return '0.0.0';
}
