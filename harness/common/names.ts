import { randomBytes, randomInt } from 'node:crypto';

/**
 * Unique name on the target, earlier runs included, so not drawn from the seed. Short, of lower-case letters, digits
 * and dashes, because the specification does not say what a name may contain.
 */
export const uniqueName = (what: string): string =>
  // A digit first, so that findings of two runs compare without it.
  `${what}-${randomInt(10)}${randomBytes(4).toString('hex').slice(1)}`;

/** Unique name of a record on a platform that others use: its administrator finds all by `muster`. */
export const recordName = (what: string): string => uniqueName(`muster-${what}`);

/** Whether a run gave a record this name, or one that the model of a platform numbers (`muster…x12`). */
export const isOwnName = (name: string): boolean =>
  /(?<![a-z])muster(-[a-z-]+-\d[0-9a-f]{7}|[0-9a-z]{1,6}x\d+)(?![0-9a-z])/.test(name);
