/**
 * Document of a console, and changes that keep a copy current. The server applies each change to its own document and
 * sends it; the page applies it to its copy. A reload gets the whole document and loses nothing.
 */

export type Change =
  | { set: string; to: unknown }
  /** Appends to a list, which keeps its newest `keep` items. */
  | { append: string; items: readonly unknown[]; keep: number }
  /** Sets rows of a table, or removes them (null). */
  | { put: string; rows: Readonly<Record<string, unknown>> }
  /** Replaces single characters of a text, at any order of `at`; `text` has one character each. */
  | { paint: string; at: readonly number[]; text: string };

/** Message of the server: first the whole document, then changes. */
export type Message = { whole: object } | { changes: readonly Change[] };

/** Applies changes to a new document, which shares unchanged members. */
export function changed<D extends object>(document: D, changes: readonly Change[]): D {
  const next = { ...document } as Record<string, unknown>;
  for (const change of changes) applyTo(next, change);
  return next as D;
}

function applyTo(document: Record<string, unknown>, change: Change): void {
  if ('set' in change) document[change.set] = change.to;
  else if ('append' in change) {
    const items = [...((document[change.append] ?? []) as unknown[]), ...change.items];
    document[change.append] = items.length > change.keep ? items.slice(-change.keep) : items;
  } else if ('put' in change) {
    const rows = { ...(document[change.put] as Record<string, unknown>) };
    for (const [key, row] of Object.entries(change.rows)) {
      if (row === null) delete rows[key];
      else rows[key] = row;
    }
    document[change.put] = rows;
  } else {
    const characters = [...((document[change.paint] ?? '') as string)];
    change.at.forEach((place, index) => {
      characters[place] = change.text[index] ?? ' ';
    });
    document[change.paint] = characters.join('');
  }
}

export interface Deed {
  /** Milliseconds since 1970. */
  at: number;
  what: string;
}
