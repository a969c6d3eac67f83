/** Job and result of a check outside the event loop, as plain data, because they cross to another thread. */

import type { InstanceFormat } from '../../../harness/contract/platform/config-instance.ts';

/** Documents of a user's schema, as text, because compiling them may be expensive too. */
export interface SchemaText {
  format: string;
  documents: readonly { name: string; data: string }[];
}

export interface ContentText {
  format: InstanceFormat;
  data: string;
}

/**
 * Checks documents as a JSON Schema, or content for its format and schema. `schema`: absent if its language is not
 * checked.
 */
export type CheckJob =
  | { kind: 'schema'; schema: SchemaText }
  | { kind: 'content'; content: ContentText; schema?: SchemaText & { digest: string } };

export interface Refused {
  code: 'invalid_schema' | 'invalid_content';
  message: string;
  /** Violations, up to a limit. */
  problems?: string[];
}

/** Parses JSON with `//` and block comments outside strings. Throws SyntaxError. */
export function parseJsonc(text: string): unknown {
  // One pattern for strings and comments: whichever begins first contains the other.
  const stripped = text.replace(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (match) =>
    match.startsWith('"') ? match : ' ',
  );
  return JSON.parse(stripped);
}
