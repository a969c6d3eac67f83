/** Outcome of a perturbation when the suite runs through the proxy. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import type { CheckResult, Report } from '../../runner/types.ts';
import { isOpen, type Perturbation } from './perturbation.ts';
import type { Plan } from './proxy.ts';
import { KEYS_OF_ALL } from './servers.ts';

/**
 * `red` and `warned` where something was changed first. `unseen`: an exchange was changed, and nothing noticed.
 * `never visited`: no exchange was. `incomplete`: nothing was found, and the run does not pass.
 */
export const OUTCOMES = ['red', 'warned', 'incomplete', 'unseen', 'never visited', 'false red'] as const;
export type Outcome = (typeof OUTCOMES)[number];

export interface Tried {
  perturbation: Perturbation;
  outcome: Outcome;
  /** Ids of checks, the leading one first. */
  found: string[];
  /** The leading finding in words. */
  why?: string;
  /** Exchanges of the class, and those of them that were changed; at most 200. */
  visited: number;
  changed: number;
  durationMs: number;
}

const CLI = fileURLToPath(new URL('../../cli/launch.cjs', import.meta.url));
const PROXY = fileURLToPath(new URL('proxy.ts', import.meta.url));
/** No run may hang, milliseconds. */
const LONGEST_MS = 600_000;

/** Runs the suite through a proxy before the server that `line` starts. `whole`: past the first finding. */
export async function tryOut(perturbation: Perturbation, line: string, whole = false): Promise<Tried> {
  using folder = scratch();
  const inFolder = (name: string): string => join(folder.path, name);
  const [plan, trace, report] = ['plan.json', 'trace', 'report.json'].map(inFolder) as [string, string, string];
  const given: Plan = { perturbation, server: line, folder: folder.path, keys: KEYS_OF_ALL, trace };
  writeFileSync(plan, JSON.stringify(given));
  const { api, seed } = perturbation;
  const { full, limited } = KEYS_OF_ALL;
  const proxy = `exec '${process.execPath}' '${PROXY}' '${plan}'`;
  const ofApi = {
    device: ['--command', `${proxy} {socket} {control} {dir}`],
    platform: ['--command', proxy, '--api-key', full, '--limited-key', limited],
  }[api];
  const ends = whole ? [] : ['--bail', '1'];
  const words = ['check', api, '--fast', '--seed', String(seed), ...ofApi, ...ends, '--report', `json=${report}`];
  const started = performance.now();
  const said = await muster(words, folder.path);
  const durationMs = Math.round(performance.now() - started);
  const traced = existsSync(trace) ? readFileSync(trace, 'utf8') : '';
  const [visited, changed] = [...'va'].map((letter) => traced.split(letter).length - 1) as [number, number];
  const common = { perturbation, visited, changed, durationMs };
  if (!existsSync(report)) return { ...common, outcome: 'incomplete', found: [], why: `no report: ${said}` };
  return { ...common, ...judge(JSON.parse(readFileSync(report, 'utf8')) as Report, changed) };
}

/** Resolves with what it wrote to its standard error, whatever its exit code is. */
function muster(words: readonly string[], cwd: string): Promise<string> {
  const env = { ...process.env, XDG_STATE_HOME: cwd };
  const { promise, resolve } = Promise.withResolvers<string>();
  const options = { cwd, env, timeout: LONGEST_MS, killSignal: 'SIGKILL', maxBuffer: 2 ** 26 } as const;
  execFile(process.execPath, [CLI, ...words], options, (_error, _stdout, stderr) => resolve(stderr));
  return promise;
}

function judge({ checks, exit_code, unreachable }: Report, changed: number): Pick<Tried, 'outcome' | 'found' | 'why'> {
  const all = (wanted: string) => checks.filter(({ outcome }) => outcome === wanted);
  const [failed, warned, blocked] = [all('fail'), all('warn'), all('blocked')];
  const isLed = ({ consequence_of }: CheckResult): number => Number(consequence_of !== undefined);
  const reds = failed.toSorted((a, b) => isLed(a) - isLed(b));
  const [first] = [...reds, ...warned, ...blocked];
  const why = unreachable ?? (first && (first.reason ?? `expected ${first.expected}; actual: ${first.actual}`));
  const found = [...reds, ...warned].map(({ id }) => id);
  const outcome = (): Outcome => {
    if (changed === 0) return failed.length > 0 ? 'false red' : 'never visited';
    if (failed.length > 0) return 'red';
    if (warned.length > 0) return 'warned';
    return exit_code === 0 ? 'unseen' : 'incomplete';
  };
  return { outcome: outcome(), found, ...(why !== undefined && { why }) };
}

/** A fault of the suite: a finding without a change, or about an open one. */
export const isFalse = ({ perturbation, outcome }: Tried): boolean =>
  outcome === 'false red' || (outcome === 'red' && isOpen(perturbation.kind));
