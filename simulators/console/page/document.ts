/** Server and pages apply the same changes to their copies of the document. */

export type Change =
  | { set: string; to: unknown }
  | { append: string; items: readonly unknown[]; keep: number }
  /** Replaces the character at index `at[i]` of the text named `paint` by `text[i]`. */
  | { paint: string; at: readonly number[]; text: string };

export type Message = { whole: object } | { changes: readonly Change[] };

export function changed<D extends object>(document: D, changes: readonly Change[]): D {
  const next = { ...document } as Record<string, unknown>;
  for (const change of changes) {
    if ('set' in change) next[change.set] = change.to;
    else if ('append' in change)
      next[change.append] = [...((next[change.append] ?? []) as unknown[]), ...change.items].slice(-change.keep);
    else {
      const characters = [...((next[change.paint] ?? '') as string)];
      change.at.forEach((place, index) => {
        characters[place] = change.text[index] ?? ' ';
      });
      next[change.paint] = characters.join('');
    }
  }
  return next as D;
}

export interface Deed {
  /** Milliseconds since 1970. */
  at: number;
  what: string;
}
