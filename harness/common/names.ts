import { randomBytes, randomInt } from 'node:crypto';

/** Unique across runs; of letters, digits and dashes, since the specification sets no rules for names. */
export const uniqueName = (what: string): string =>
  // Comparing findings of two runs ignores a suffix that begins with a digit.
  `${what}-${randomInt(10)}${randomBytes(4).toString('hex').slice(1)}`;

export const recordName = (what: string): string => uniqueName(`muster-${what}`);

export const isOwnName = (name: string): boolean =>
  /(?<![a-z])muster(-[a-z-]+-\d[0-9a-f]{7}|[0-9a-z]{1,6}x\d+)(?![0-9a-z])/.test(name);
