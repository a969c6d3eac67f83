/** Failures of the database file in words for a client, who would have to guess from SQLite's. */
import { PlatformError } from '../ports.ts';

/** Primary result codes of SQLite. */
const CODES: Readonly<Record<number, { code: string; message: string }>> = {
  8: { code: 'storage_read_only', message: 'the database is read-only' },
  10: { code: 'storage_failed', message: 'the database file cannot be read or written' },
  13: { code: 'disk_full', message: 'the disk is full' },
};

/** The error to answer with, 503 as for a robot whose event log takes nothing; `error` itself when it is of another kind. */
export function storageError(error: unknown): unknown {
  const { code, errcode = 0, errstr } = error as { code?: string; errcode?: number; errstr?: string };
  const known = code === 'ERR_SQLITE_ERROR' ? CODES[errcode & 0xff] : undefined;
  if (known === undefined) return error;
  const refusal = new PlatformError(503, known.code, `${known.message}: nothing was changed`, { sqlite: errstr });
  refusal.cause = error;
  return refusal;
}
