/** `--capability NAME`: what a target declares. */

import { nearest } from '../common/nearest.ts';
import { UsageError } from '../common/usage-error.ts';
import { CAPABILITIES, CAPABILITIES_OF, type Capability } from '../contract/capabilities.ts';

export const isCapability = (name: string): name is Capability => (CAPABILITIES as readonly string[]).includes(name);

/** Throws UsageError for the first name that a target of this kind cannot declare. */
export function declared(names: readonly string[] = [], kind: keyof typeof CAPABILITIES_OF): Capability[] {
  const accepted = CAPABILITIES_OF[kind];
  return names
    .flatMap((name) => name.split(','))
    .map((name) => {
      const known = accepted.find((one) => one === name);
      if (known !== undefined) return known;
      const near = nearest(name, accepted);
      throw new UsageError(
        `--capability ${name}: ${near === undefined ? '' : `did you mean ${near}? `}accepted are ${accepted.join(', ')}`,
      );
    });
}
