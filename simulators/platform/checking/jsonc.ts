/** JSON with comments: `//` and block comments outside strings. Throws SyntaxError. */
export function parseJsonc(text: string): unknown {
  // One pattern for strings and comments: whichever begins first contains the other.
  const stripped = text.replace(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (match) =>
    match.startsWith('"') ? match : ' ',
  );
  return JSON.parse(stripped);
}
