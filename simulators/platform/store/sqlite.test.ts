import process from 'node:process';
import { afterEach, expect, it, vi } from 'vitest';
import { openDatabase, withoutSqliteWarning } from './store.ts';

const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
afterEach(() => emitWarning.mockClear());

const SQLITE = 'SQLite is an experimental feature and might change at any time';

it('withoutSqliteWarning suppresses only the warning that SQLite is experimental', () => {
  const error = new Error('an error');
  const loaded = withoutSqliteWarning(() => {
    process.emitWarning(SQLITE, 'ExperimentalWarning');
    process.emitWarning(SQLITE, 'OtherWarning');
    process.emitWarning('Another is an experimental feature', 'ExperimentalWarning');
    process.emitWarning(error);
    process.emitWarning('old', { type: 'DeprecationWarning', code: 'DEP0' });
    return 'loaded';
  });
  expect(loaded).toBe('loaded');
  expect(emitWarning.mock.calls).toEqual([
    [SQLITE, 'OtherWarning'],
    ['Another is an experimental feature', 'ExperimentalWarning'],
    [error],
    ['old', { type: 'DeprecationWarning', code: 'DEP0' }],
  ]);
});

it('openDatabase opens a database without a warning', () => {
  const database = openDatabase(':memory:');
  expect(database.prepare('SELECT 1 AS one').get()).toEqual({ one: 1 });
  database.close();
  expect(emitWarning).not.toHaveBeenCalled();
});
