/**
 * The document that a console shows, and the changes that keep a copy of it up to date. The server applies each change
 * to its own document and sends it; the page applies it to its copy. So a reload, which gets the whole document, loses
 * nothing.
 */

/** One change of a document, by the name of a member. */
export type Change =
  /** The member gets another value. */
  | { set: string; to: unknown }
  /** A list gets more items at its end, and keeps the newest `keep`. */
  | { append: string; items: readonly unknown[]; keep: number }
  /** Rows of a table get another value, or leave it (null). */
  | { put: string; rows: Readonly<Record<string, unknown>> }
  /** A text gets other characters at some places: `at` ascending or not, `text` one character each. */
  | { paint: string; at: readonly number[]; text: string };

/** What the server sends: the whole document at first, then changes. */
export type Message = { whole: object } | { changes: readonly Change[] };

/** A new document with the changes; members that do not change are shared. */
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

/** Something that was done, or that happened. */
export interface Deed {
  /** Milliseconds since 1970. */
  at: number;
  what: string;
}
