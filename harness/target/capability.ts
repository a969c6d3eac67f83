/** `--capability NAME`: what a target declares. */

import { nearest } from '../check/plan.ts';
import { CAPABILITIES, type Capability } from '../check/types.ts';
import { UsageError } from '../commands/errors.ts';

export const isCapability = (name: string): name is Capability => (CAPABILITIES as readonly string[]).includes(name);

export function declared(names: readonly string[] = [], from = '--capability'): Capability[] {
  return names
    .flatMap((name) => name.split(','))
    .map((name) => {
      if (isCapability(name)) return name;
      const near = nearest(name, CAPABILITIES);
      throw new UsageError(
        `${from} ${name}: ${near === undefined ? '' : `did you mean ${near}? `}accepted are ${CAPABILITIES.join(', ')}`,
      );
    });
}
