/** Options that every `muster check` has, and how they become a run. */
import process from 'node:process';
import type { Argv, Options } from 'yargs';
import { UsageError } from '../common/usage-error.ts';
import { REPORT_FORMATS_TEXT } from '../reports/create.ts';

export const planOptions = {
  only: {
    type: 'string',
    array: true,
    describe: 'Only these requirements or checks; * stands for anything',
    group: 'Which checks:',
  },
  section: {
    type: 'string',
    array: true,
    describe: 'Only these sections of the specification',
    group: 'Which checks:',
  },
  fast: {
    type: 'boolean',
    default: false,
    describe: 'Leave out what has to wait (heartbeats)',
    group: 'Which checks:',
  },
  profile: {
    choices: ['core', 'full'] as const,
    default: 'full' as const,
    describe: 'How much has to hold',
    group: 'Which checks:',
  },
  requirements: {
    type: 'string',
    describe: 'Hold the target to the requirement set of this date',
    defaultDescription: 'the newest',
    group: 'Which checks:',
  },
  'read-only': { type: 'boolean', default: false, describe: 'Never write to the platform', group: 'Which checks:' },
  runs: { type: 'number', default: 1, describe: 'Multiplies the runs of every property', group: 'How:' },
  seed: { type: 'number', describe: 'Repeats a run exactly', defaultDescription: 'a new one', group: 'How:' },
  patience: { type: 'number', default: 10, describe: 'Seconds to wait for what should happen at once', group: 'How:' },
  baseline: { type: 'string', describe: 'Known failures, with reason and expiry', group: 'Verdict:' },
  'update-baseline': {
    type: 'boolean',
    default: false,
    describe: 'Write the failures of this run into the baseline',
    group: 'Verdict:',
  },
  report: {
    type: 'string',
    array: true,
    describe: REPORT_FORMATS_TEXT,
    group: 'Verdict:',
  },
  verbose: {
    type: 'boolean',
    default: false,
    describe: 'Pretty report: every check, every finding whole',
    group: 'Verdict:',
  },
  certificate: { type: 'string', describe: 'Write a signed certificate to this file', group: 'Verdict:' },
  key: { type: 'string', describe: 'Private key (PEM, Ed25519) that signs it', group: 'Verdict:' },
  replay: { type: 'string', hidden: true },
  badge: { type: 'string', describe: 'Write an SVG badge to this file', group: 'Verdict:' },
} satisfies Record<string, Options>;

export interface PlanArguments {
  only?: string[];
  section?: string[];
  fast: boolean;
  profile: 'core' | 'full';
  requirements?: string;
  'read-only': boolean;
  runs: number;
  seed?: number;
  patience: number;
  baseline?: string;
  'update-baseline': boolean;
  report?: string[];
  verbose: boolean;
  certificate?: string;
  key?: string;
  badge?: string;
  /** JSON of a Replay: set by `muster replay` alone. */
  replay?: string;
}

/** A timer takes at most 24 days and more ends at once; no check needs nearly as much. */
export const LONGEST_PATIENCE_SECONDS = 3600;
const MOST: Readonly<Record<string, number>> = { patience: LONGEST_PATIENCE_SECONDS, runs: 10_000 };

/** Numbers come as they are typed: says which option is wrong and what it takes. */
export function positive(option: string, value: number, what = 'a number above 0'): number {
  const most = MOST[option] ?? Number.MAX_SAFE_INTEGER;
  if (!(value > 0 && value <= most)) {
    throw new UsageError(`--${option}: must be ${what}${option in MOST ? `, up to ${most}` : ''}`);
  }
  return value;
}

export function seedFrom(value: number | undefined): number {
  if (value === undefined) return Math.floor(Math.random() * 2 ** 31);
  if (!Number.isSafeInteger(value)) throw new UsageError('--seed: must be an integer');
  return value;
}

export function withPlanOptions<T>(argv: Argv<T>): Argv<T> {
  argv.options(planOptions);
  return argv;
}

/** Aborts on the first SIGINT or SIGTERM, so that what was opened is closed and a report is still written; a second one ends at once. */
export function interruptSignal(): { signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  let times = 0;
  const onSignal = (): void => {
    times += 1;
    if (times > 1) process.exit(130);
    controller.abort(new Error('interrupted'));
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    signal: controller.signal,
    release: () => {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    },
  };
}

/** yargs infers what an option may be more loosely than a command reads it. */
export function typed<U>(argv: Argv<unknown>): Argv<U> {
  return argv as Argv<U>;
}
