/** The whole state in a database, to compare it with another one. */
import { createHash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';

/** A digest of every row of every table that holds any, by table. */
export function digestOf(database: DatabaseSync): Record<string, string> {
  const tables = database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")
    .all();
  const found: Record<string, string> = {};
  for (const { name } of tables) {
    const hash = createHash('sha256');
    let rows = 0;
    for (const row of database.prepare(`SELECT * FROM ${name}`).iterate()) {
      rows += 1;
      for (const [column, value] of Object.entries(row)) {
        hash.update(`${column}=${typeof value}:`).update(value instanceof Uint8Array ? value : String(value));
      }
    }
    if (rows > 0) found[String(name)] = `${rows} rows, ${hash.digest('hex').slice(0, 16)}`;
  }
  return found;
}
