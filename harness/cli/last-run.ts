/**
 * What this machine remembers of its own runs, a file a target in the user's state folder: ids and outcomes of checks,
 * and by its name, which is a digest, how the target was reached. `--last-failed` takes up what was left open. A report
 * may come from anybody, so that `replay` uses a command, an address or a file that it names only if a run that has
 * used it is remembered.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import process from 'node:process';
import type { Static } from 'typebox';
import { UsageError } from '../common/usage.ts';
import { replaceWith, SECRET_MODE, whyNot } from '../common/user-files.ts';
import { shape } from '../contract/shape.ts';
import { Type } from '../contract/type.ts';
import type { Api, CheckResult, Outcome, Report } from '../runner/types.ts';
import { targetOnly } from './check-options.ts';
import type { GivenOptions } from './options.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const lastRun = shape(
  'LastRun',
  Type.Object({
    ended_at: Type.String(),
    checks: Type.Record(Type.String(), Type.String(), { description: 'Outcomes by check' }),
  }),
);
type LastRun = Static<typeof lastRun.schema>;

/** What the last run against a target left, and where that stands. */
export interface Remembered {
  readonly file: string;
  /** Ids of the checks that failed, or were not decided. */
  readonly open: readonly string[];
}

/** Targets that are remembered: of more, those of the oldest runs are forgotten. */
const MOST = 500;

/** Options that start nothing, reach nothing and open no file: all that is taken from anybody's report. */
const DATA: readonly string[] =
  'profile requirements patience read-only identify api-version capability name target-version'.split(' ');

/** The options of a run that a replay repeats: those that say what is required, and those that reach the target. */
export function partsOf(options: GivenOptions): { data: GivenOptions; reaching: GivenOptions } {
  const entries = Object.entries(targetOnly(options));
  const part = (isData: boolean): GivenOptions =>
    Object.fromEntries(entries.filter(([name]) => DATA.includes(name) === isData));
  return { data: part(true), reaching: part(false) };
}

function folderIn({ XDG_STATE_HOME: state = '' }: Environment): string {
  const base = isAbsolute(state) ? state : join(homedir(), '.local', 'state');
  return join(base, 'muster', 'runs');
}

/** One file for each target, as it is reached from this folder. `options`: of the run, without secrets. */
function fileFor(api: Api, options: GivenOptions, env: Environment): string {
  const sorted = Object.entries(partsOf(options).reaching).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const key = createHash('sha256').update(JSON.stringify([api, process.cwd(), sorted]));
  return join(folderIn(env), `${api}-${key.digest('hex')}.json`);
}

/** Whether a run on this machine, by this user and from this folder, has reached its target so. */
export const isRemembered = (api: Api, options: GivenOptions, env: Environment = process.env): boolean =>
  existsSync(fileFor(api, options, env));

const isOpen = (outcome: string): boolean => ['fail', 'blocked', 'undecided'].includes(outcome);

/**
 * What the last run against a target left open.
 *
 * @throws UsageError when nothing is remembered, or nothing was left open
 */
export function remembered(api: Api, options: GivenOptions, env: Environment = process.env): Remembered {
  const file = fileFor(api, options, env);
  const last = read(file);
  if (last === undefined || Object.keys(last.checks).length === 0)
    throw new UsageError(
      `--last-failed: no run against this target is remembered (${file}); run the same command without it first`,
    );
  const open = Object.keys(last.checks).filter((id) => isOpen(last.checks[id] ?? ''));
  if (open.length === 0)
    throw new UsageError(
      `--last-failed: the last run against this target, at ${last.ended_at}, left nothing failed or undecided; ` +
        'leave it out to run everything',
    );
  return { file, open };
}

function read(file: string): LastRun | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return lastRun.is(value) ? (value as LastRun) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Keeps the outcomes of a run; what it left out stays as it was, and all of it where no target was reached.
 *
 * @returns why it could not be kept
 */
export function remember(
  api: Api,
  options: GivenOptions,
  { checks, unreachable }: Pick<Report, 'checks' | 'unreachable'>,
  env: Environment = process.env,
): string | undefined {
  const file = fileFor(api, options, env);
  try {
    mkdirSync(folderIn(env), { recursive: true, mode: 0o700 });
    const before = read(file)?.checks ?? {};
    const ran = unreachable === undefined ? checks : [];
    const now = Object.fromEntries(ran.map((check) => [check.id, outcomeOf(check)]));
    const kept: LastRun = { ended_at: new Date().toISOString(), checks: { ...before, ...now } };
    replaceWith(file, `${JSON.stringify(kept, null, 2)}\n`, SECRET_MODE);
    forgetOldest(folderIn(env));
    return undefined;
  } catch (error) {
    return `${file} cannot be written (${whyNot(error)}), so --last-failed and replay will not know this run`;
  }
}

/** A SHOULD that fails the run has failed. */
const outcomeOf = ({ outcome, fails_by: by }: CheckResult): Outcome =>
  outcome === 'warn' && by !== undefined ? 'fail' : outcome;

function forgetOldest(folder: string): void {
  const files = readdirSync(folder);
  if (files.length <= MOST) return;
  const aged = files.map((name) => {
    const path = join(folder, name);
    return { path, at: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 };
  });
  for (const { path } of aged.sort((one, other) => other.at - one.at).slice(MOST)) rmSync(path, { force: true });
}
