/** Names for what a check creates. */
import { randomBytes, randomInt } from 'node:crypto';

/**
 * A name that a user could give, unlike every other on the target, those of earlier runs included; therefore not drawn
 * from the run's seed. Short, and only small letters, digits and dashes, because the specification does not show what a
 * name may contain.
 */
export const uniqueName = (what: string): string =>
  // A digit comes first, so that findings of two runs compare without it.
  `${what}-${randomInt(10)}${randomBytes(4).toString('hex').slice(1)}`;
