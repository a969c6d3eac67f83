/** Any Unicode text. fast-check's own `binary` unit builds tables for seconds, in which nothing else of the run goes on. */
import fc from 'fast-check';

const SURROGATES = { first: 0xd800, count: 0x800 };
const LAST = 0x10_ffff;

/** One code point; no half of a surrogate pair. */
export const codePoint: fc.Arbitrary<string> = fc
  .nat({ max: LAST - SURROGATES.count })
  .map((at) => String.fromCodePoint(at < SURROGATES.first ? at : at + SURROGATES.count));
