/** What a user declares about a target: capabilities, and what identifies the implementation under test. */
import { createHash } from 'node:crypto';
import { nearest } from '../common/nearest.ts';
import { readInput, whyNot } from '../common/read-input.ts';
import { UsageError } from '../common/usage-error.ts';
import { CAPABILITIES, CAPABILITIES_OF, type Capability } from '../contract/capabilities.ts';
import type { TargetDescription } from '../runner/types.ts';
import type { TargetFile } from './file-schema.ts';
import type { TargetOptions } from './options.ts';

/** Whether Muster knows a capability of that name. */
export const isCapability = (name: string): name is Capability => (CAPABILITIES as readonly string[]).includes(name);

/**
 * The capabilities of `--capability` and of a target file; a name may hold several, separated by commas. Throws UsageError for
 * the first name that a target of this kind cannot declare.
 */
export function declaredCapabilities(
  kind: keyof typeof CAPABILITIES_OF,
  options: TargetOptions,
  file: Partial<TargetFile>,
): Set<Capability> {
  const accepted = CAPABILITIES_OF[kind];
  const names = (options.capability ?? []).flatMap((name) => name.split(','));
  const unknown = names.find((name) => !accepted.some((one) => one === name));
  if (unknown !== undefined) {
    const near = nearest(unknown, accepted);
    const meant = near === undefined ? '' : `did you mean ${near}? `;
    throw new UsageError(`--capability ${unknown}: ${meant}accepted are ${accepted.join(', ')}`);
  }
  return new Set([...names, ...(file.capabilities ?? [])].filter(isCapability));
}

/** Name, version and digest, as far as they are known; `digest` is that of a started image. Throws UsageError. */
export function identityOf(
  options: TargetOptions,
  file: Partial<TargetFile>,
  digest: string | undefined,
): Pick<TargetDescription, 'name' | 'version' | 'digest'> {
  const name = options.name ?? file.name;
  const version = options.version ?? file.version;
  const known = digest ?? digestOf(options.artifact ?? file.artifact);
  return {
    ...(name === undefined ? {} : { name }),
    ...(version === undefined ? {} : { version }),
    ...(known === undefined ? {} : { digest: known }),
  };
}

/** SHA-256 of a file as `sha256:…`. Throws UsageError when the file cannot be read. */
export function digestOf(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    return `sha256:${createHash('sha256').update(readInput(file)).digest('hex')}`;
  } catch (error) {
    throw new UsageError(`artifact ${file}: cannot be read (${whyNot(error)})`);
  }
}
