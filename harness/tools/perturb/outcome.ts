/** Runs `muster check` through the proxy that changes answers, and decides whether the suite noticed the change. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import type { Report } from '../../runner/types.ts';
import { isOpen, type Perturbation } from './perturbation.ts';
import { KEYS } from './platform.ts';
import type { Plan } from './proxy.ts';

/**
 * `red`: failed MUST after a change. `warned`: violated SHOULD after a change.
 * `unseen`: the run passes despite changes. `incomplete`: the run neither passes nor has a finding.
 * `never visited`: the proxy changed nothing. `false red`: failed MUST although the proxy changed nothing.
 */
export const OUTCOMES = ['red', 'warned', 'incomplete', 'unseen', 'never visited', 'false red'] as const;
export type Outcome = (typeof OUTCOMES)[number];

export interface Tried {
  perturbation: Perturbation;
  outcome: Outcome;
  found: string[];
  why?: string | undefined;
  /** Exchanges in the chosen class and changed ones; the proxy records at most 200 in total. */
  visited: number;
  changed: number;
  durationMs: number;
}

const CLI = fileURLToPath(new URL('../../cli/launch.cjs', import.meta.url));
const PROXY = fileURLToPath(new URL('proxy.ts', import.meta.url));

/** `line`: shell line that starts the server. `whole`: continues after the first finding. */
export async function tryOut(perturbation: Perturbation, line: string, whole = false): Promise<Tried> {
  using folder = scratch();
  const inFolder = (name: string): string => join(folder.path, name);
  const [plan, trace, report] = ['plan.json', 'trace', 'report.json'].map(inFolder) as [string, string, string];
  const given: Plan = { perturbation, server: line, folder: folder.path, trace };
  writeFileSync(plan, JSON.stringify(given));
  const { api, seed } = perturbation;
  const proxy = `exec '${process.execPath}' '${PROXY}' '${plan}'`;
  const ofApi = {
    device: ['--command', `${proxy} {socket} {control} {dir}`],
    platform: ['--command', proxy, '--api-key', KEYS.full, '--limited-key', KEYS.limited],
  }[api];
  const words = ['check', api, '--fast', '--seed', String(seed), ...ofApi, '--report', `json=${report}`];
  const started = performance.now();
  const env = { ...process.env, XDG_STATE_HOME: folder.path };
  const options = { cwd: folder.path, env, timeout: 600_000, killSignal: 'SIGKILL', maxBuffer: 2 ** 26 } as const;
  const stderr = await new Promise<string>((resolve) => {
    const command = [CLI, ...words, ...(whole ? [] : ['--bail', '1'])];
    execFile(process.execPath, command, options, (_error, _stdout, written) => resolve(written));
  });
  const durationMs = Math.round(performance.now() - started);
  const letters = existsSync(trace) ? readFileSync(trace, 'utf8') : '';
  const [visited, changed] = [...'va'].map((letter) => letters.split(letter).length - 1) as [number, number];
  const common = { perturbation, visited, changed, durationMs };
  if (!existsSync(report)) return { ...common, outcome: 'incomplete', found: [], why: `no report: ${stderr}` };
  return { ...common, ...outcomeOf(JSON.parse(readFileSync(report, 'utf8')) as Report, changed) };
}

function outcomeOf(
  { checks, exit_code, unreachable }: Report,
  changed: number,
): Pick<Tried, 'outcome' | 'found' | 'why'> {
  const all = (wanted: string) => checks.filter(({ outcome }) => outcome === wanted);
  const [failed, warned] = [all('fail'), all('warn')];
  const { leading = [], following = [] } = Object.groupBy(failed, ({ consequence_of }) =>
    consequence_of === undefined ? 'leading' : 'following',
  );
  const findings = [...leading, ...following, ...warned];
  const [first] = [...findings, ...all('blocked')];
  const why = unreachable ?? (first && (first.reason ?? `expected ${first.expected}; actual: ${first.actual}`));
  const isRed = failed.length > 0;
  let outcome: Outcome = exit_code === 0 ? 'unseen' : 'incomplete';
  if (changed === 0) outcome = isRed ? 'false red' : 'never visited';
  else if (isRed || warned.length > 0) outcome = isRed ? 'red' : 'warned';
  return { outcome, found: findings.map(({ id }) => id), why };
}

/** True if the suite is wrong: a MUST failed without a change, or after a legal change. */
export const isFalse = ({ perturbation, outcome }: Tried): boolean =>
  outcome === 'false red' || (outcome === 'red' && isOpen(perturbation.kind));
