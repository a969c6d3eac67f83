/** Numbers as a query can carry them, beyond what any integer type holds. */
import fc from 'fast-check';

const POWERS = [31, 32, 53, 63, 64, 128].map((exponent) => 2n ** BigInt(exponent));
const DIGITS_400 = 10n ** 399n;

/** Decimal digits, unlike `String(1e21)`. */
export const huge: readonly string[] = [...POWERS.flatMap((power) => [power - 1n, power]), DIGITS_400].map(String);
export const hugeNegative: readonly string[] = [...POWERS.flatMap((power) => [-power, -power - 1n]), -DIGITS_400].map(
  String,
);

/** Any integer above 2^31, up to some hundreds of digits. */
export const anyHuge: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...huge),
  fc.bigInt({ min: 2n ** 31n, max: 2n ** 80n }).map(String),
  fc.bigInt({ min: 2n ** 200n, max: DIGITS_400 }).map(String),
);
export const anyHugeNegative: fc.Arbitrary<string> = anyHuge.map((digits) => `-${digits}`);

/** `-12…789 (400 characters)`: an echo of hundreds of digits helps nobody. */
export const short = (digits: string): string =>
  digits.length <= 40 ? digits : `${digits.slice(0, 12)}… (${digits.length} characters)`;
