import process from 'node:process';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openDatabase, withoutSqliteWarning } from './sqlite.ts';

const warnings: string[] = [];
const listen = ({ name, message }: Error) => warnings.push(`${name}: ${message}`);
beforeEach(() => {
  warnings.length = 0;
  process.on('warning', listen);
});
afterEach(() => process.off('warning', listen));
/** Warnings are told a turn later. */
const told = () => new Promise<string[]>((resolve) => setImmediate(() => resolve(warnings)));

const SQLITE = 'SQLite is an experimental feature and might change at any time';

it('keeps back that SQLite is experimental, and nothing else', async () => {
  const loaded = withoutSqliteWarning(() => {
    process.emitWarning(SQLITE, 'ExperimentalWarning');
    process.emitWarning(SQLITE, 'OtherWarning');
    process.emitWarning('Another is an experimental feature', 'ExperimentalWarning');
    process.emitWarning(new Error('an error'));
    process.emitWarning('old', { type: 'DeprecationWarning', code: 'DEP0' });
    return 'loaded';
  });
  expect(loaded).toBe('loaded');
  expect(await told()).toEqual([
    `OtherWarning: ${SQLITE}`,
    'ExperimentalWarning: Another is an experimental feature',
    'Error: an error',
    'DeprecationWarning: old',
  ]);
});

it('keeps nothing back afterwards, even where loading failed', async () => {
  const { emitWarning } = process;
  const fails = () => {
    throw new Error('not there');
  };
  expect(() => withoutSqliteWarning(fails)).toThrow('not there');
  expect(process.emitWarning).toBe(emitWarning);
  process.emitWarning(SQLITE, 'ExperimentalWarning');
  expect(await told()).toEqual([`ExperimentalWarning: ${SQLITE}`]);
});

it('opens a database without a warning', async () => {
  const database = openDatabase(':memory:');
  expect(database.prepare('SELECT 1 AS one').get()).toEqual({ one: 1 });
  database.close();
  expect(await told()).toEqual([]);
});
