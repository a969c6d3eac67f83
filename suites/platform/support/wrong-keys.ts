/** API keys that were not issued, as similar as possible to one that was. */
import fc from 'fast-check';

export interface WrongKey {
  /** How it differs. The key itself is never shown: it is too similar to the right one. */
  how: string;
  key: string;
}
export const emptyKey: WrongKey = { how: 'an empty key', key: '' };

/** Another letter, so that decoding the key (hexadecimal, base 64) cannot undo the change. */
export const changedAt = (key: string, at: number): WrongKey => ({
  how: `character ${at + 1} of the key changed`,
  key: `${key.slice(0, at)}${/[a-m0-4]/i.test(key[at] ?? '') ? 'z' : 'a'}${key.slice(at + 1)}`,
});

export const withoutLast = (key: string, count: number): WrongKey => ({
  how: `the key without its last ${count} characters`,
  key: key.slice(0, Math.max(0, key.length - count)),
});

/** Whole bytes in both hexadecimal and base 64, so that no decoding drops them. */
export const withTail = (key: string): WrongKey => ({
  how: 'the key with eight more characters',
  key: `${key}a0a0a0a0`,
});

/** Changes are made in the first half, because the last letter of a base 64 text may carry bits that nobody reads. */
export function wrongKeys(key: string): fc.Arbitrary<WrongKey> {
  const changed = fc.nat({ max: Math.max(0, Math.floor(key.length / 2) - 1) }).map((at) => changedAt(key, at));
  const cut = fc.integer({ min: 1, max: Math.max(1, key.length - 1) }).map((count) => withoutLast(key, count));
  const invented = fc
    .string({ unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz0123456789'), minLength: 8, maxLength: 64 })
    .map((text) => ({ how: `an invented key of ${text.length} characters`, key: text }));
  return fc
    .oneof({ arbitrary: changed, weight: 3 }, { arbitrary: invented, weight: 3 }, { arbitrary: cut, weight: 2 })
    .filter((wrong) => wrong.key.toLowerCase() !== key.toLowerCase());
}
