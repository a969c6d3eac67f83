/** Which subjects run when: some take long, and find only what a change of certain folders can break. */

import { execFileSync } from 'node:child_process';
import { FLOODS } from '../../../simulators/defects/null.ts';
import type { Subject } from './subjects.ts';

export const OCCASIONS = ['change', 'nightly'] as const;
export type Occasion = (typeof OCCASIONS)[number];

interface Seldom {
  what: string;
  is(subject: Subject): boolean;
  /** What they depend on besides `SHARED`. */
  own: RegExp;
}

/** Files that any of them depends on. */
const SHARED = /^(harness\/(targets\/control|client|runner|tools\/(matrix|subjects))|suites\/\w+\/support)\//;
const SELDOM: readonly Seldom[] = [
  {
    what: 'starved harness',
    is: ({ kind }) => kind === 'starved',
    own: /^harness\/(common|targets|reports)\//,
  },
  {
    what: 'unwilling control',
    is: ({ kind }) => kind === 'unwilling',
    own: /^(simulators\/defects\/unwilling-control\.ts|suites\/device\/)/,
  },
  {
    what: 'slow variant',
    is: ({ slow }) => slow === true,
    own: /^simulators\/defects\/(\w+\/)?slowness\.ts$/,
  },
  {
    what: 'flood',
    is: ({ kind, name }) => kind === 'null' && FLOODS.some((flood) => flood === name),
    own: /^simulators\/defects\/null\.ts$/,
  },
];

/** Paths that differ from a commit, also those that are not committed; undefined when git cannot tell. */
export function changedSince(ref: string): string[] | undefined {
  const git = (...words: string[]): string[] =>
    execFileSync('git', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
      .split('\n')
      .filter((path) => path !== '');
  try {
    return [...git('diff', '--name-only', ref, '--'), ...git('ls-files', '--others', '--exclude-standard')];
  } catch {
    return undefined;
  }
}

/**
 * Splits the subjects. `changed`: paths that differ, as far as that is known. `said`: one line for each group that is left out, so that
 * nothing is silently skipped.
 */
export function selected(
  subjects: readonly Subject[],
  changed: readonly string[] = [],
): { chosen: Subject[]; said: string[] } {
  const left = SELDOM.filter(({ own }) => !changed.some((path) => SHARED.test(path) || own.test(path)));
  const said = left.flatMap(({ what, is }) => {
    const count = subjects.filter(is).length;
    return count === 0 ? [] : [`left out: ${count} × ${what}; they run nightly, and when their folders have changed`];
  });
  return { chosen: subjects.filter((subject) => !left.some(({ is }) => is(subject))), said };
}
