/** Last run against each target, for `--last-failed` and `replay`. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import process from 'node:process';
import type { Static } from 'typebox';
import { UsageError } from '../common/usage.ts';
import { replaceWith, SECRET_MODE, whyNot } from '../common/user-files.ts';
import { shape, Type } from '../contract/shape.ts';
import type { Api, CheckResult, Report } from '../runner/types.ts';
import { targetOnly } from './check-options.ts';
import type { GivenOptions } from './options.ts';

const lastRun = shape(
  'LastRun',
  Type.Object({
    ended_at: Type.String(),
    checks: Type.Record(Type.String(), Type.String(), { description: 'Outcomes by check' }),
  }),
);
type LastRun = Static<typeof lastRun.schema>;

export type Remembered = { readonly file: string; readonly open: readonly string[] };

/** Maximum number of remembered targets, each in a file; the oldest file is deleted first. */
const MOST = 500;

/** Options that `replay` takes from any report: they start no process, open no connection and read no file. */
const DATA: readonly string[] =
  'profile requirements patience read-only identify api-version capability name target-version'.split(' ');

export function partsOf(options: GivenOptions): { data: GivenOptions; reaching: GivenOptions } {
  const entries = Object.entries(targetOnly(options));
  const part = (isData: boolean): GivenOptions =>
    Object.fromEntries(entries.filter(([name]) => DATA.includes(name) === isData));
  return { data: part(true), reaching: part(false) };
}

function folderIn({ XDG_STATE_HOME: state = '' }: NodeJS.ProcessEnv): string {
  const base = isAbsolute(state) ? state : join(homedir(), '.local', 'state');
  return join(base, 'muster', 'runs');
}

function fileFor(api: Api, options: GivenOptions, env: NodeJS.ProcessEnv, folder = process.cwd()): string {
  const sorted = Object.entries(partsOf(options).reaching).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const key = createHash('sha256').update(JSON.stringify([api, folder, sorted]));
  return join(folderIn(env), `${api}-${key.digest('hex')}.json`);
}

/** True if an earlier run in `folder` used the same target; `replay` distrusts other targets of a report. */
export const isRemembered = (api: Api, options: GivenOptions, env = process.env, folder = process.cwd()): boolean =>
  existsSync(fileFor(api, options, env, folder));

export function remembered(api: Api, options: GivenOptions, env = process.env): Remembered {
  const file = fileFor(api, options, env);
  const last = read(file);
  if (last === undefined || Object.keys(last.checks).length === 0)
    throw new UsageError(
      `--last-failed: no run against this target is remembered (${file}); run the same command without it first`,
    );
  const open = Object.keys(last.checks).filter((id) => /^(?:fail|blocked|undecided)$/.test(last.checks[id] ?? ''));
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

export function remember(
  api: Api,
  options: GivenOptions,
  { checks, unreachable }: Pick<Report, 'checks' | 'unreachable'>,
  env = process.env,
): string | undefined {
  const file = fileFor(api, options, env);
  try {
    mkdirSync(folderIn(env), { recursive: true, mode: 0o700 });
    const before = read(file)?.checks ?? {};
    const ran = checks.filter(({ reason = '' }) => unreachable === undefined && !reason.startsWith('not run: '));
    // Counts a warning as failed if an option or the profile makes it fail the run.
    const hasFailed = ({ outcome, fails_by: by }: CheckResult): boolean =>
      outcome === 'fail' || (outcome === 'warn' && by !== undefined);
    const own = ran.map((result) => [result.id, hasFailed(result) ? 'fail' : result.outcome]);
    // Marks checks whose traffic broke a rule as failed, too, because a rule sends no requests itself.
    const shown = ran.filter(hasFailed).flatMap(({ seen_by: ids = [] }) => ids.map((id) => [id, 'fail']));
    const now = Object.fromEntries([...own, ...shown]);
    const kept: LastRun = { ended_at: new Date().toISOString(), checks: { ...before, ...now } };
    replaceWith(file, `${JSON.stringify(kept, null, 2)}\n`, SECRET_MODE);
    forgetOldest(folderIn(env));
    return undefined;
  } catch (error) {
    return `${file} cannot be written (${whyNot(error)}), so --last-failed and replay will not know this run`;
  }
}

function forgetOldest(folder: string): void {
  const names = readdirSync(folder);
  if (names.length <= MOST) return;
  const aged = names.map((name) => {
    const path = join(folder, name);
    return { path, at: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 };
  });
  for (const { path } of aged.sort((one, other) => other.at - one.at).slice(MOST)) rmSync(path, { force: true });
}
