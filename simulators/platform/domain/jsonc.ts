/** JSON with comments: `//` and block comments outside strings. Throws SyntaxError. */
export function parseJsonc(text: string): unknown {
  // A string, or a comment: whichever begins first swallows the other.
  const stripped = text.replace(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (match) =>
    match.startsWith('"') ? match : ' ',
  );
  return JSON.parse(stripped);
}
