/**
 * What is checked outside of the event loop, and what comes of it. Both are plain data, because they cross to another
 * thread.
 */

import type { InstanceFormat } from '../../../harness/contract/platform/config-instance.ts';

/** The documents of a schema, as text: they are a user's, and so is what they make of the content. */
export interface SchemaText {
  format: string;
  documents: readonly { name: string; data: string }[];
}

export interface ContentText {
  format: InstanceFormat;
  data: string;
}

/**
 * Whether documents are a JSON Schema, or whether content parses and satisfies one. `schema`: none for a language that
 * is not checked.
 */
export type CheckJob =
  | { kind: 'schema'; schema: SchemaText }
  | { kind: 'content'; content: ContentText; schema?: SchemaText & { digest: string } };

/** Why something is refused. */
export interface Refused {
  code: 'invalid_schema' | 'invalid_content';
  message: string;
  /** What content breaks, as far as it is told. */
  problems?: string[];
}

/** JSON with comments: `//` and block comments outside strings. Throws SyntaxError. */
export function parseJsonc(text: string): unknown {
  // One pattern for strings and comments: whichever begins first contains the other.
  const stripped = text.replace(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (match) =>
    match.startsWith('"') ? match : ' ',
  );
  return JSON.parse(stripped);
}
