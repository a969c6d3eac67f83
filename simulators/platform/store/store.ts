import { closeSync, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import process from 'node:process';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { NEW_FILE, SECRET_MODE } from '../../../harness/common/user-files.ts';
import { RESOURCE_KINDS, type ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { PlatformError } from '../ports.ts';
import { Collection } from './collection.ts';
import { type Rows, SCHEMA_STATEMENTS } from './rows.ts';

/** Hides the warning of Node 22 that SQLite is experimental, because a user cannot avoid it. */
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

/** SQLite loads with the first database, so that other commands start faster. */
export function openDatabase(path: string): DatabaseSync {
  const sqlite = withoutSqliteWarning(() => process.getBuiltinModule('node:sqlite'));
  return new sqlite.DatabaseSync(path);
}

const CODES: Readonly<Record<number, { code: string; message: string }>> = {
  8: { code: 'storage_read_only', message: 'the database is read-only' },
  10: { code: 'storage_failed', message: 'the database file cannot be read or written' },
  13: { code: 'disk_full', message: 'the disk is full' },
};

function storageError(error: unknown): unknown {
  const { code, errcode = 0, errstr } = error as { code?: string; errcode?: number; errstr?: string };
  const known = code === 'ERR_SQLITE_ERROR' ? CODES[errcode & 0xff] : undefined;
  if (known === undefined) return error;
  const refusal = new PlatformError(503, known.code, `${known.message}: nothing was changed`, { sqlite: errstr });
  refusal.cause = error;
  return refusal;
}

const SCHEMA_VERSION = 2;

export class DatabaseError extends Error {
  override name = 'DatabaseError';
  readonly code = 'MUSTER_DATABASE';
}

type Collections = { readonly [K in ResourceKind]: Collection<Rows[K]> };

export class Store {
  readonly database: DatabaseSync;
  readonly collections: Collections;
  readonly #statements = new Map<string, StatementSync>();
  #queued: number;
  #pending: (() => void)[] | undefined;

  /** Locks the file. Throws DatabaseError. */
  constructor(path: string) {
    this.database = openAlone(path);
    const open = <K extends ResourceKind>(kind: K) =>
      new Collection<Rows[K]>(this, kind, (change) => {
        if (this.#pending === undefined) change();
        else this.#pending.push(change);
      });
    this.collections = Object.fromEntries(RESOURCE_KINDS.map((kind) => [kind, open(kind)])) as unknown as Collections;
    this.#queued = this.#lastQueued();
  }

  /** Keeps the statement, because preparing takes longer than running. `sql` must not contain values. */
  prepare(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  /** Last position in the queue of deployments. */
  get queued(): number {
    return this.#queued;
  }

  /** Next position in the queue of deployments; a rollback may leave gaps. */
  nextInQueue(): number {
    this.#queued += 1;
    return this.#queued;
  }

  /** Changes are on disk when the outermost call returns; a nested call joins its transaction. */
  write<T>(change: () => T): T {
    if (this.#pending !== undefined) return change();
    const pending: (() => void)[] = [];
    this.#pending = pending;
    this.database.exec('BEGIN IMMEDIATE');
    try {
      const result = change();
      this.database.exec('COMMIT');
      for (const apply of pending) apply();
      return result;
    } catch (error) {
      if (this.database.isTransaction) this.database.exec('ROLLBACK');
      for (const collection of Object.values(this.collections ?? {})) collection.forgetUncommitted();
      throw storageError(error);
    } finally {
      this.#pending = undefined;
    }
  }

  saveTo(file: string): void {
    try {
      this.database.prepare('VACUUM INTO ?').run(file);
    } catch (error) {
      throw storageError(error);
    }
  }

  restoreFrom(file: string): void {
    this.database.prepare('ATTACH ? AS saved').run(file);
    try {
      const tables = this.database.prepare("SELECT name FROM saved.sqlite_schema WHERE type = 'table'").all();
      this.write(() => {
        for (const { name } of tables)
          this.database.exec(`DELETE FROM main.${name}; INSERT INTO main.${name} SELECT * FROM saved.${name};`);
        for (const collection of Object.values(this.collections)) collection.reload();
      });
      this.#queued = this.#lastQueued();
    } finally {
      this.database.exec('DETACH saved');
    }
  }

  close(): void {
    if (this.database.isOpen) this.database.close();
  }

  #lastQueued(): number {
    const newest = this.prepare('SELECT max(queue_order) AS newest FROM deployments').get();
    return Number(newest?.['newest'] ?? 0);
  }
}

/** Locks the file, because the index in memory misses changes by other processes. */
function openAlone(path: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    if (path !== ':memory:') createPrivate(path);
    database = openDatabase(path);
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA busy_timeout = 2000;');
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
    database.exec('BEGIN IMMEDIATE');
    const { user_version: found } = database.prepare('PRAGMA user_version').get() as { user_version: number };
    if (found !== 0 && found !== SCHEMA_VERSION)
      throw new Error(`written by another version of this program (schema ${found}, not ${SCHEMA_VERSION})`);
    for (const statement of SCHEMA_STATEMENTS) database.exec(statement);
    database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`);
    if (path === ':memory:' || process.platform === 'win32') return database;
    // A power loss could otherwise remove the new database file.
    const folder = openSync(dirname(path), 'r');
    fsyncSync(folder);
    closeSync(folder);
    return database;
  } catch (error) {
    database?.close();
    const { message } = error as Error;
    const reason = message === 'database is locked' ? 'another process has it open' : message;
    throw new DatabaseError(`${path}: ${reason}`, { cause: error });
  }
}

/** Readable only by its owner, because the database holds the keys of devices. */
function createPrivate(path: string): void {
  try {
    closeSync(openSync(path, NEW_FILE, SECRET_MODE));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
