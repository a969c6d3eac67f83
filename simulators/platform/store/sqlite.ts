/** Loads `node:sqlite` without the warning of Node 22 that it is experimental: the user cannot do anything about it. */
import process from 'node:process';
import type { DatabaseSync } from 'node:sqlite';

/** Returns what `load` returns, and suppresses only the warning that SQLite is experimental. */
export function withoutSqliteWarning<T>(load: () => T): T {
  const { emitWarning } = process;
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    const text = warning instanceof Error ? warning.message : warning;
    const expected = text.startsWith('SQLite is an experimental feature') && rest[0] === 'ExperimentalWarning';
    if (!expected) Reflect.apply(emitWarning, process, [warning, ...rest]);
  };
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** Loads SQLite when the first database is opened, so that other commands start without it. */
export function openDatabase(path: string): DatabaseSync {
  const sqlite = withoutSqliteWarning(() => process.getBuiltinModule('node:sqlite'));
  return new sqlite.DatabaseSync(path);
}
