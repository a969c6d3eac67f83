/**
 * What was left open in the last run against a target, for `--last-failed`: ids and outcomes alone, in a file of the
 * user's state folder.
 */

import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import Type, { type Static } from 'typebox';
import { UsageError } from '../common/usage.ts';
import { replaceWith, SECRET_MODE, whyNot } from '../common/user-files.ts';
import { shape } from '../contract/shape.ts';
import type { Api, CheckResult, Outcome, Report } from '../runner/types.ts';
import type { GivenOptions } from './options.ts';

const lastRun = shape(
  'LastRun',
  Type.Object({
    ended_at: Type.String(),
    checks: Type.Record(Type.String(), Type.String(), { description: 'Outcomes by check' }),
  }),
);
type LastRun = Static<typeof lastRun.schema>;

/** What the last run against a target left, and where that stands. */
export interface LeftOpen {
  readonly file: string;
  /** Ids of the checks that failed, or were not decided. */
  readonly open: readonly string[];
}

/** Targets that are remembered: of more, those of the oldest runs are forgotten. */
const MOST = 100;

const folder = (env: NodeJS.ProcessEnv): string =>
  join(env['XDG_STATE_HOME'] || join(homedir(), '.local', 'state'), 'muster', 'last-run');

/** One file for each target, as it is named from this folder. `target`: the options that name it, without secrets. */
function fileFor(api: Api, target: GivenOptions, env: NodeJS.ProcessEnv): string {
  const sorted = Object.entries(target).sort(([one], [other]) => (one < other ? -1 : 1));
  const key = createHash('sha256').update(JSON.stringify([api, process.cwd(), sorted]));
  return join(folder(env), `${api}-${key.digest('hex').slice(0, 16)}.json`);
}

const isOpen = (outcome: string): boolean => ['fail', 'blocked', 'undecided'].includes(outcome);

/**
 * What is remembered of a target.
 *
 * @throws UsageError when there is nothing, or nothing was left open
 */
export function lastRunOf(api: Api, target: GivenOptions, env: NodeJS.ProcessEnv = process.env): LeftOpen {
  const file = fileFor(api, target, env);
  const last = read(file);
  if (last === undefined)
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
 * Keeps the outcomes of a run; what it left out stays as it was. One that reached no target is not kept.
 *
 * @returns why it could not be kept
 */
export function keepLastRun(
  api: Api,
  target: GivenOptions,
  { checks, unreachable }: Pick<Report, 'checks' | 'unreachable'>,
  env: NodeJS.ProcessEnv = process.env,
): string | undefined {
  if (unreachable !== undefined) return undefined;
  const file = fileFor(api, target, env);
  try {
    mkdirSync(folder(env), { recursive: true });
    const before = read(file)?.checks ?? {};
    const now = Object.fromEntries(checks.map((check) => [check.id, outcomeOf(check)]));
    const kept: LastRun = { ended_at: new Date().toISOString(), checks: { ...before, ...now } };
    replaceWith(file, `${JSON.stringify(kept, null, 2)}\n`, SECRET_MODE);
    forgetOldest(env);
    return undefined;
  } catch (error) {
    return `${file} cannot be written (${whyNot(error)}), so --last-failed will not know this run`;
  }
}

/** A SHOULD that fails the run has failed. */
const outcomeOf = ({ outcome, fails_by: by }: CheckResult): Outcome =>
  outcome === 'warn' && by !== undefined ? 'fail' : outcome;

function forgetOldest(env: NodeJS.ProcessEnv): void {
  const files = readdirSync(folder(env)).filter((name) => name.endsWith('.json'));
  if (files.length <= MOST) return;
  const aged = files.map((name) => {
    const path = join(folder(env), name);
    return { path, at: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 };
  });
  for (const { path } of aged.sort((one, other) => other.at - one.at).slice(MOST)) rmSync(path, { force: true });
}
