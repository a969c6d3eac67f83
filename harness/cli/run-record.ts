/**
 * What this machine remembers of its own runs: by which options each reached its target. A report may come from
 * anybody, so that a command, an address or a file that it names is used again only if a run on this machine has used
 * it.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import process from 'node:process';
import { replaceWith, SECRET_MODE } from '../common/user-files.ts';
import type { Api } from '../runner/types.ts';
import { targetOnly } from './check-options.ts';
import type { GivenOptions } from './options.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Options that start nothing, reach nothing and open no file: all that is taken from anybody's report. */
const DATA: readonly string[] =
  'profile requirements patience read-only api-version capability name target-version'.split(' ');

/** A record holds a digest and nothing else, so that many cost little. */
const MOST_RECORDS = 1000;

/** The options of a run that a replay repeats: those that say what is required, and those that reach the target. */
export function partsOf(options: GivenOptions): { data: GivenOptions; reaching: GivenOptions } {
  const entries = Object.entries(targetOnly(options));
  const part = (isData: boolean): GivenOptions =>
    Object.fromEntries(entries.filter(([name]) => DATA.includes(name) === isData));
  return { data: part(true), reaching: part(false) };
}

/** Keeps in mind how a run reached its target. Where that cannot be written, a replay has to be told. */
export function remember(api: Api, options: GivenOptions, env: Environment = process.env): void {
  const folder = folderIn(env);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    replaceWith(join(folder, nameOf(api, options)), '', SECRET_MODE);
    forgetOld(folder);
  } catch {
    // A home that is full, or that cannot be written to, costs no run.
  }
}

/** Whether a run on this machine, by this user, has reached its target so. */
export const isRemembered = (api: Api, options: GivenOptions, env: Environment = process.env): boolean =>
  existsSync(join(folderIn(env), nameOf(api, options)));

function folderIn({ XDG_STATE_HOME: state = '' }: Environment): string {
  const base = isAbsolute(state) ? state : join(homedir(), '.local', 'state');
  return join(base, 'muster', 'runs');
}

function nameOf(api: Api, options: GivenOptions): string {
  const { reaching } = partsOf(options);
  const sorted = Object.entries(reaching).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([api, sorted]))
    .digest('hex');
}

function forgetOld(folder: string): void {
  const names = readdirSync(folder);
  if (names.length <= MOST_RECORDS) return;
  const byAge = names
    .map((name) => ({ path: join(folder, name), time: statSync(join(folder, name)).mtimeMs }))
    .toSorted((a, b) => a.time - b.time);
  for (const { path } of byAge.slice(0, names.length - MOST_RECORDS)) rmSync(path, { force: true });
}
