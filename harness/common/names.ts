import { randomBytes, randomInt } from 'node:crypto';

/**
 * Unique name on the target, earlier runs included, so not drawn from the seed. Short, of lower-case letters, digits
 * and dashes, because the specification does not say what a name may contain.
 */
export const uniqueName = (what: string): string =>
  // A digit first, so that findings of two runs compare without it.
  `${what}-${randomInt(10)}${randomBytes(4).toString('hex').slice(1)}`;
