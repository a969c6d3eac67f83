/**
 * Crashes of the platform's database at every step of commit, checkpoint, snapshot and restore. A real platform serves
 * requests while its system calls are recorded and some of them fail; the real code opens the state after a kill or a
 * power loss at any step.
 */

import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import type { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import type { Random } from '../../../simulators/common/random.ts';
import { Store } from '../../../simulators/platform/store/store.ts';
import { startPlatform } from '../../../simulators/platform/testing/kit.ts';
import { type Crash, type CrashOptions, type CrashResult, type History, tryPoints } from './crash-points.ts';
import { type Injection, runTraced, whyUntraceable } from './system-calls.ts';

/** Digest of every row, by table; without empty tables. */
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

/** Note of a moment in a platform's life. States are digests by table. */
export type Note =
  | { sends: string }
  | { intends: State }
  | { committed: true }
  | { answered: number; state: State }
  | { unopened: string };
type State = Record<string, string>;

const DB = 'platform.db';
/** Points between two starts of the whole platform, which take longer than all the rest. */
const WHOLE_EVERY = 10;
const LIFE = fileURLToPath(new URL('crash-platform-life.ts', import.meta.url));
/** Maximum number of the first call of each kind that fails. */
const CALLS = { pwrite64: 300, fsync: 30, ftruncate: 6, unlink: 4 } as const;
const CALL_NAMES = Object.keys(CALLS) as (keyof typeof CALLS)[];

interface PlatformHistory extends History {
  seed: string;
  notes: readonly { step: number; note: Note }[];
}

/**
 * Resolves with the crashes and their problems. Rejects where no system calls can be recorded. `wrong`: SQL that makes
 * the database careless, to prove that faults are found.
 */
export async function crashMatrix(options: CrashOptions, wrong = ''): Promise<CrashResult> {
  const reason = whyUntraceable();
  if (reason !== undefined) throw new Error(reason);
  return await tryPoints<PlatformHistory>(options, {
    // A process takes seconds to start.
    pointsEach: 150,
    runLog: (source, folder) => runPlatform(source, folder, wrong),
    // Nothing is written through: a sync is a step of its own.
    underWay: () => false,
    judge: judgeCrash,
  });
}

/** Runs a platform in a process of its own, on a disk that sometimes fails. */
async function runPlatform(source: Random, dir: string, wrong: string): Promise<PlatformHistory> {
  const folder = join(dir, 'data');
  mkdirSync(folder, { recursive: true });
  const notes = join(dir, 'notes');
  const seed = source.text(8);
  const injections = source.chance(0.6)
    ? CALL_NAMES.filter(() => source.chance(0.5)).map((call) => drawn(call, source))
    : [];
  const largest = source.chance(0.25) ? source.integer(50_000, 300_000) : undefined;
  const command = [process.execPath, LIFE, seed, join(folder, DB), notes, wrong];
  const run = await runTraced(command, { folder, notes, injections, ...(largest !== undefined && { largest }) });
  const failures = new Map<string, number>();
  for (const { kind } of run.failures) failures.set(kind, (failures.get(kind) ?? 0) + 1);
  const read = run.notes.map(({ step, line }) => ({ step, note: JSON.parse(line) as Note }));
  const problems = wrongAnswers(read, run.failures);
  return {
    steps: run.steps,
    failures,
    mode: run.failures.length > 0 ? 'failing disk' : 'sound disk',
    problems,
    seed,
    notes: read,
  };
}

function drawn(call: Injection['call'], source: Random): Injection {
  const often = CALLS[call];
  const error = call === 'pwrite64' && source.chance(0.5) ? 'ENOSPC' : 'EIO';
  return { call, error, first: source.integer(1, often), every: source.integer(often >> 1, often) };
}

/** Problems of answers before any crash: a state that is not the committed one, and a failure without a cause. */
function wrongAnswers(notes: PlatformHistory['notes'], failures: readonly { step: number }[]): string[] {
  const problems: string[] = [];
  let sent = { step: 0, what: '' };
  let committed: State = {};
  let intended: State = {};
  let commits = 0;
  for (const { step, note } of notes) {
    const inTime = failures.some((failure) => failure.step >= sent.step && failure.step <= step);
    if ('sends' in note) {
      sent = { step, what: note.sends };
      commits = 0;
    } else if ('intends' in note) intended = note.intends;
    else if ('committed' in note) {
      committed = intended;
      commits += 1;
    } else if ('unopened' in note) {
      if (failures.length === 0) problems.push(`did not start: ${note.unopened}`);
    } else {
      const { answered, state } = note;
      const differs = difference(state, committed);
      if (differs !== undefined)
        problems.push(`after ${sent.what} (${answered}) the state is not the committed one: ${differs}`);
      if (answered >= 500 && !inTime)
        problems.push(`${sent.what} was answered ${answered} on a disk that did not fail`);
      if (answered < 300 && commits === 0 && !sent.what.endsWith('/snapshots'))
        problems.push(`${sent.what} was answered ${answered} without a commit`);
    }
  }
  return problems;
}

/** Opens the state after a crash, compares it with the clients' knowledge, goes on, and opens it again. */
async function judgeCrash(history: PlatformHistory, { after, folder }: Crash) {
  const problems: string[] = [];
  const db = join(folder, DB);
  let lost = 0;
  try {
    const differs = comparison(db, allowedAt(history.notes, after));
    if (differs !== undefined) {
      lost = 1;
      problems.push(differs);
    }
    if (after % WHOLE_EVERY === 0) await restartOn(db, history.seed);
    const before = new Store(db);
    const { id } = before.write(() => before.collections.group.insert(groupOf));
    before.close();
    const reopened = new Store(db);
    if (reopened.collections.group.byId(id) === undefined) problems.push('another start finds another state');
    reopened.close();
  } catch (error) {
    problems.push(`does not open or go on: ${error instanceof Error ? error.message : String(error)}`);
  }
  return { lost, problems };
}

const groupOf = (seq: number) => ({
  seq,
  id: `grp_${seq}`,
  name: `${seq}`,
  parent_id: null,
  created_at: '',
  updated_at: '',
});

/** Starts the whole platform on that state, and has it store something. */
async function restartOn(db: string, seed: string): Promise<void> {
  await using platform = await startPlatform({ db, seed });
  await platform.create('/devices', { name: 'after the crash' });
}

/** State of the last commit, and those that transactions since then wanted to commit. */
function allowedAt(notes: PlatformHistory['notes'], after: number): [State, ...State[]] {
  let allowed: [State, ...State[]] = [{}];
  for (const { step, note } of notes) {
    if (step > after) break;
    if ('intends' in note) allowed.push(note.intends);
    else if ('committed' in note) allowed = [allowed.at(-1) ?? {}];
  }
  return allowed;
}

/** Difference between the state in the file and all of `allowed`; undefined when it is one of them. */
function comparison(db: string, allowed: readonly [State, ...State[]]): string | undefined {
  const store = new Store(db);
  try {
    const [{ integrity_check: integrity } = {}] = store.database.prepare('PRAGMA integrity_check').all();
    if (integrity !== 'ok') return `the database is damaged: ${integrity}`;
    const state = digestOf(store.database);
    const differences = allowed.map((one) => difference(state, one));
    return differences.includes(undefined) ? undefined : `what was committed is not there: ${differences[0]}`;
  } finally {
    store.close();
  }
}

function difference(state: State, wanted: State): string | undefined {
  const tables = [...new Set([...Object.keys(state), ...Object.keys(wanted)])];
  const wrong = tables.filter((table) => state[table] !== wanted[table]);
  const differences = wrong.map(
    (table) => `${table} has ${state[table] ?? 'no rows'}, not ${wanted[table] ?? 'no rows'}`,
  );
  return wrong.length === 0 ? undefined : differences.join('; ');
}
