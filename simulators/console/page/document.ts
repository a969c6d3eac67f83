/**
 * Document of a console, and changes that keep a copy current. The server applies each change to its own document and
 * sends it to pages, which apply it to their copies. A reload gets the whole document and loses nothing.
 */

export type Change =
  | { set: string; to: unknown }
  | { append: string; items: readonly unknown[]; keep: number }
  /** Replaces single characters of a text: that at `at[i]` by `text[i]`, in any order. */
  | { paint: string; at: readonly number[]; text: string };

/** Message of the server: the whole document at first, then changes. */
export type Message = { whole: object } | { changes: readonly Change[] };

/** Applies changes to a new document, which shares unchanged members with the old one. */
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
