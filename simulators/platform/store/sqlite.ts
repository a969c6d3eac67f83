/** `node:sqlite`, loaded without the one warning that Node 22 gives with it: whoever runs a platform can do nothing about it. */
import process from 'node:process';
import type { DatabaseSync } from 'node:sqlite';

/** What `load` returns. Of the warnings that come while it runs, that SQLite is experimental is not told; all others are. */
export function withoutSqliteWarning<T>(load: () => T): T {
  const { emitWarning } = process;
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    const text = warning instanceof Error ? warning.message : warning;
    const told = !(text.startsWith('SQLite is an experimental feature') && rest[0] === 'ExperimentalWarning');
    if (told) Reflect.apply(emitWarning, process, [warning, ...rest]);
  };
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** Loaded when the first database is opened: whatever needs none has nothing to do with it. */
export function openDatabase(path: string): DatabaseSync {
  const sqlite = withoutSqliteWarning(() => process.getBuiltinModule('node:sqlite'));
  return new sqlite.DatabaseSync(path);
}
