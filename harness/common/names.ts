import { randomBytes, randomInt } from 'node:crypto';

/**
 * Makes a name unique across runs, of letters, digits and dashes, as the specification does not say what a name may
 * contain.
 */
export const uniqueName = (what: string): string =>
  // A suffix that begins with a digit is ignored when findings of two runs are compared.
  `${what}-${randomInt(10)}${randomBytes(4).toString('hex').slice(1)}`;

export const recordName = (what: string): string => uniqueName(`muster-${what}`);

export const isOwnName = (name: string): boolean =>
  /(?<![a-z])muster(-[a-z-]+-\d[0-9a-f]{7}|[0-9a-z]{1,6}x\d+)(?![0-9a-z])/.test(name);
