/** Authorization headers that are wrong, though some come close to the right one. */
import fc from 'fast-check';

const HALF = 0.5;

/** Headers without the token, or with a part of it. */
export const headersWithoutToken = (token: string): (string | undefined)[] =>
  [
    undefined,
    'Bearer',
    'Bearer null',
    'Bearer *',
    'Basic Og==',
    `Bearer ${token.slice(0, Math.ceil(token.length * HALF))}`,
    `Bearer ${token.slice(0, -2)}`,
    `Bearer ${token.slice(0, 1)}`,
    `Bearer ${token}x`,
  ].filter((header) => header?.toLowerCase() !== `bearer ${token.toLowerCase()}`);

/** Tokens of the same length that differ in every character, in the first alone, and in the last but three. */
export function changedTokens(token: string): string[] {
  const changed = (from: number, to: number): string =>
    [...token].map((sign, at) => (at >= from && at < to ? (/z/i.test(sign) ? '7' : 'Z') : sign)).join('');
  const late = Math.max(0, token.replace(/=+$/, '').length - 4);
  return [changed(0, token.length), changed(0, 1), changed(late, late + 1)].filter((other) => other !== token);
}

/** The token with upper and lower case swapped; undefined when it has no letters. */
export function otherCase(token: string): string | undefined {
  const swapped = [...token].map((sign) => (sign === sign.toLowerCase() ? sign.toUpperCase() : sign.toLowerCase()));
  return swapped.join('') === token ? undefined : swapped.join('');
}

/** Where a token has letters of one case alone, as hexadecimal has, the case may mean nothing. */
export const usesBothCases = (token: string): boolean => /[a-z]/.test(token) && /[A-Z]/.test(token);

/** Any Authorization but the right one: part of the token, more than it, or another one. */
export const anyWrongHeader = (token: string): fc.Arbitrary<string | undefined> => {
  // Padding may mean nothing to a device that decodes the token.
  const bare = token.replace(/=+$/, '');
  return fc
    .oneof(
      fc.constantFrom(...headersWithoutToken(token)),
      fc.nat({ max: Math.max(0, bare.length - 2) }).map((length) => `Bearer ${bare.slice(0, length)}`),
      fc.stringMatching(/^[A-Za-z0-9]{1,40}$/).map((text) => `Bearer ${text}`),
      fc.stringMatching(/^[A-Za-z0-9]{1,8}$/).map((more) => `Bearer ${token}${more}`),
      fc.nat({ max: Math.floor((bare.length - 1) * HALF) }).map((at) => {
        const other = bare[at] === 'Z' ? '7' : 'Z';
        return `Bearer ${bare.slice(0, at)}${other}${token.slice(at + 1)}`;
      }),
    )
    .filter((header) => header?.toLowerCase() !== `bearer ${token.toLowerCase()}`);
};
