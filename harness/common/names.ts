import { randomBytes, randomInt } from 'node:crypto';

/** Uses only letters, digits and dashes, because the specification sets no rules for names. */
export const uniqueName = (what: string): string =>
  // Begins the suffix with a digit, by which `comparableText` and `isOwnName` recognize the name.
  `${what}-${randomInt(10)}${randomBytes(4).toString('hex').slice(1)}`;

export const recordName = (what: string): string => uniqueName(`muster-${what}`);

export const isOwnName = (name: string): boolean =>
  /(?<![a-z])muster(-[a-z-]+-\d[0-9a-f]{7}|type\d[0-9a-f]{7}|[0-9a-z]{1,6}x\d+)(?![0-9a-z])/.test(name);
