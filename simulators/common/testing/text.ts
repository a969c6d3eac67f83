import fc from 'fast-check';

/**
 * Any code point, lone surrogates included, as the unit of `fc.string`. The built-in unit `binary` needs seconds of
 * every test process to set up.
 */
export const anyCharacter = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code));
