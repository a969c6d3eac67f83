/** Any Unicode text. The `binary` unit of fast-check takes seconds to build its tables, and blocks the whole run meanwhile. */
import fc from 'fast-check';

const SURROGATES = { first: 0xd800, count: 0x800 };
const LAST = 0x10_ffff;

/** One code point, never half of a surrogate pair. */
export const codePoint: fc.Arbitrary<string> = fc
  .nat({ max: LAST - SURROGATES.count })
  .map((at) => String.fromCodePoint(at < SURROGATES.first ? at : at + SURROGATES.count));
