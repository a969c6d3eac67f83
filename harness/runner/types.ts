/** Checks, their context, and the results of a run; knows no requirement. */
import type { Recorded } from '../client/recorder.ts';
import type { Mark } from '../client/timeline.ts';
import type { Capability } from '../contract/capabilities.ts';
import type { Declaration } from './declarations.ts';
import type { Rule } from './rules.ts';
import type { Deviation, Session } from './session.ts';

export { CAPABILITIES, type Capability } from '../contract/capabilities.ts';

/** `INFO`: the specification is silent. */
export const LEVELS = ['MUST', 'SHOULD', 'INFO'] as const;
export type Level = (typeof LEVELS)[number];

/** Subjects of a suite: one of the two APIs, the whole service, or a client of it. */
export const APIS = ['device', 'platform', 'system', 'client'] as const;
export type Api = (typeof APIS)[number];

export interface Requirement {
  /** Stable slug, e.g. `device.events.replay.exclusive`. */
  id: string;
  level: Level;
  section: string;
  /** Date of its first requirement set (YYYY-MM-DD). */
  since: string;
  /** Date of the first set without it (YYYY-MM-DD). */
  until?: string;
  /** Quoted sentence of the specification; absent if the specification is silent. */
  clause?: string;
  /** Requirement in one sentence of Muster. */
  text: string;
  /** Marks a SHOULD that protects secrets, or servers from storms. The profile `full` holds a target to it. */
  protective?: true;
}

/**
 * Use of the target beside other checks. `shared`: reads, or tolerates all others; runs beside everything.
 * `publishing`: makes events, and follows its own by id; several run at once on a slow target. `exclusive`: drives the
 * target alone, beside `shared` and waits. `disruptive`: stops, kills, compacts or crowds the target; runs last and
 * alone.
 */
export type Sharing = 'shared' | 'publishing' | 'exclusive' | 'disruptive';

/** Check as data: the runner decides when, with what seed and how often it runs. */
export interface Check<Context> {
  /** Id of the requirement, with an aspect if several checks decide it. */
  id: string;
  requirement: Requirement;
  /** Capabilities that the target must declare, all of them. */
  needs?: readonly Capability[];
  sharing?: Sharing;
  /** Idles for seconds: `--fast` leaves it out; else it runs beside everything. */
  slow?: boolean;
  /** Checks how clients find the target, such as the discovery file, so runs even if nothing answers. */
  runsWhenUnreachable?: boolean;
  /**
   * Place in its lane, whose order the seed draws. `first`: needs a complete log. `last`: looks at traces of the
   * others, exclusive ones included, or leaves damage.
   */
  turn?: 'first' | 'last';
  /** Sends a platform more than GET requests: `--read-only` leaves it out. */
  writes?: boolean;
  profile?: 'core';
  /**
   * Ids of plainer checks that this check rests on, and waits for; its finding may follow from theirs. Premises run in
   * the same lane or an earlier one: `shared`, `exclusive`, `disruptive`.
   */
  premises?: readonly string[];
  /** Sightings needed to pass, by name, e.g. `{ compactions: 1 }`; fewer leave it undecided. Default: one answer. */
  least?: Readonly<Record<string, number>>;
  /** Advice in words after too few sightings. */
  orElse?: string;
  /** A failure blocks all checks that rest on this one: nothing can be asked any more. */
  essential?: boolean;
  /** Deviation that later checks allow for once this one failed. */
  deviation?: Deviation;
  /** Rule that judges what other checks see, made anew for each run; the check itself asks nothing. */
  rule?: () => Rule;
  /** Depends on secrets, which a recording of traffic does not hold. */
  bySecrets?: true;
  run(context: Context & CheckContext): Promise<void>;
}

export interface Suite<Context> {
  api: Api;
  /** Dates of requirement sets (YYYY-MM-DD), oldest first. */
  requirementSets: readonly string[];
  checks: readonly Check<Context>[];
}

/** Requirement set that a run held a target to, in reports and certificates. */
export interface RequirementSet {
  date: string;
  digest: string;
}

export const OUTCOMES = [
  'pass',
  'fail',
  'warn',
  'not_applicable',
  'undecided',
  'blocked',
  'known',
  'flaky',
  'fixed',
] as const;
/**
 * `fail`: a MUST does not hold. `warn`: a SHOULD does not. `not_applicable`: a capability is missing, an option leaves
 * it out, or the specification leaves the target free. `undecided`: too little was seen. `blocked`: the set-up or
 * Muster failed. `known`: fails as the baseline says. `flaky`: fails sometimes, as the baseline says; may have passed.
 * `fixed`: passes against the baseline.
 */
export type Outcome = (typeof OUTCOMES)[number];

/** Violation in words. Field names are those of the JSON report. */
export interface Finding {
  /** Judged level, if not that of the requirement. */
  level?: Level;
  /** Every acceptable answer. */
  expected: string;
  actual: string;
  /** Smallest failing input. */
  counterexample?: unknown;
  /** Coordinates of the counterexample in fast-check; `path` is `n/…` for the n-th property of a check (from 0). */
  seed?: number;
  path?: string;
  replay_path?: string;
  /** Shell line that reproduces the finding; absent if the target has to be driven first. */
  curl?: string;
  /** POSIX shell script that drives the target and asks it again, in the order of the check. */
  script?: string;
  exchanges?: Recorded[];
  /** Actions and observations of the check on one axis of time. */
  timeline?: Mark[];
}

/** Failures among the attempts at a check that decided something. */
export interface Rate {
  times: number;
  failed: number;
  /** Attempts without another check beside them. */
  alone: { times: number; failed: number };
  not_tried?: string;
}

/** Hooks by which the target influences the outcome of a check. */
export interface TargetHooks {
  /**
   * Called before the check with its id. Throws Blocked if nothing can be decided now, or a Violation for acts of the
   * target since the last check.
   */
  prepare?(requirement: Requirement, id: string): Promise<void>;
  /** Interprets an error that ended the check by the target's state: returns the same error, or another. */
  reconsider?(error: unknown): Promise<unknown>;
  /** Called after the check with its error. Returns an error to fail a passing check. */
  afterCheck?(error?: unknown): Error | undefined;
  standardError?(): string;
}

export interface CheckContext {
  /** Ends the check unless `holds`: as `fail`, or as `warn` if its requirement is a SHOULD. */
  must(holds: unknown, finding: { expected: string; actual: unknown; counterexample?: unknown }): asserts holds;
  /** Records a violated convention, and goes on. A check that passes otherwise ends as `warn`. */
  should(holds: unknown, finding: { expected: string; actual: unknown }): void;
  /** Records a remark of one sentence, which never changes the outcome. */
  note(observation: string): void;
  /**
   * Records the target's choice where the specification is silent, for `muster compare`. Never changes the outcome.
   * @param name the question, e.g. `GET /devices?limit=0`; the same for every implementation
   * @param value the answer, e.g. `limit 10`; the same in every run
   */
  observe(name: string, value: string | number): void;
  /** Ends the check as `not_applicable`: the specification leaves the target free. */
  notApplicable(reason: string): never;
  /** Ends the check as `undecided`: it saw too little. */
  undecided(reason: string): never;
  /** Counts sightings for `least`; answers, events and inputs count by themselves. */
  saw(what: string, count?: number): void;
  /** Ends the check as `blocked`: its set-up failed, so nothing is decided. */
  blocked(reason: string): never;
  /**
   * Runs a property in fast-check with the run's seed and number of runs, and shrinks a failure. Reports the finding of
   * the failing predicate (by `must`, or any Violation) with counterexample, seed and path.
   */
  property<T>(
    arbitrary: Arbitrary<T>,
    predicate: (value: T) => Promise<void>,
    options?: PropertyOptions<NoInfer<T>>,
  ): Promise<void>;
  readonly session: Session;
  /** True if the target has shown this deviation. The report then says that the reader allowed for it. */
  allowsFor(deviation: Deviation): boolean;
  /** Set for a SHOULD or INFO: its timeouts shorten no wait of a MUST. */
  readonly lenient: boolean;
  /** True if the finding may follow from another, which shows the cause more plainly. */
  readonly follows: boolean;
  /** Seed of this check: depends on `--seed` and the check id only. */
  readonly seed: number;
  /** Seed that checks share. */
  readonly runSeed: number;
  /** Aborts when the run is interrupted or the check exceeds its time. */
  readonly signal: AbortSignal;
  /** Milliseconds left for the whole run (from `--max-time`); Infinity without a limit. */
  remainingMs(): number;
  /** Milliseconds left for this check, which is blocked at 0. */
  leftMs(): number;
  readonly runs: number;
  /** Path of a model-based counterexample to run again, for `fc.commands`. */
  readonly replayPath: string | undefined;
}

export interface PropertyOptions<T> {
  /** Runs at `--runs 1` scale. Default 25. */
  runs?: number;
  examples?: [unknown][];
  /** Counterexample in the reader's words. Default: as fast-check writes it. */
  describe?(value: T): string;
}

type Arbitrary<T> = import('fast-check').Arbitrary<T>;

/** Line of a report. Field names are those of the JSON report. */
export interface CheckResult extends Partial<Finding> {
  id: string;
  /** Judged level: SHOULD for a violated SHOULD in a check of a MUST. */
  level: Level;
  section: string;
  requirement: string;
  /** Quoted sentence of the specification. */
  clause?: string;
  requirement_id: string;
  outcome: Outcome;
  duration_ms: number;
  /** Reason of any outcome but pass, fail and warn, or why the baseline does not excuse the finding. */
  reason?: string;
  /** Id of the failed check that blocks this one. */
  blocked_by?: string;
  /** Id of the failed check that shows the cause of this finding more plainly. */
  consequence_of?: string;
  /** Checks that made the requests of a rule's finding. */
  seen_by?: string[];
  /** Deviations that its readers allowed for, to look at their own subject. */
  allowed_for?: string[];
  /** Deviation of a failed check that later checks allowed for. */
  deviation?: Deviation;
  /** Last lines of the target's standard error, if the check did not pass. */
  stderr?: string;
  /** Set if the profile demands the requirement. */
  in_profile?: true;
  /** Sightings: `answers`, `events`, `inputs`, and the check's own names. */
  saw?: Readonly<Record<string, number>>;
  /** Option or profile that makes a warning fail the run, such as `--fail-on should`. */
  fails_by?: string;
  /** Marks a fault of Muster: the check is blocked, and the exit code is 3. */
  fault?: true;
  /** Failure rate of a finding or a repeated check. */
  rate?: Rate;
  /** Observations where the specification is silent, and violated SHOULDs, in words. */
  observations?: string[];
  /** Observations to compare with those of another implementation. */
  observed?: Observed[];
  needs?: Capability[];
  /** Command line that repeats this check alone; absent if it would show nothing. */
  replay_command?: string;
}

export interface Observed {
  /** Question, the same everywhere. */
  name: string;
  value: string;
}

export type Summary = Record<Outcome, number>;

/** Decided part of a requirement set. `undecided` and `decided` add up to `checks`. */
export interface Coverage {
  /** Checks of the requirement set, narrowed or not. */
  checks: number;
  decided: number;
  /** Undecided checks by reason, most first. */
  undecided: Undecided[];
}

export interface Undecided {
  checks: number;
  /** Reason, as the end of a sentence that begins with the number: `need drive`. */
  why: string;
  /** Missing capability that the others depend on. */
  needs?: Capability[];
  /** Option that would decide the checks; absent if none helps. */
  add?: string;
}

/** JSON report. Times are ISO 8601, durations milliseconds. */
export interface Report {
  muster: string;
  api: Api;
  seed: number;
  target: TargetDescription;
  profile: string;
  /** Date of the requirement set (YYYY-MM-DD). */
  requirements_version: string;
  /** `sha256:…` over the whole requirement set of this API, however narrow the run. */
  requirements_digest?: string;
  /** Number of rounds, if more than one. */
  repeat?: number;
  /** Options that narrowed the run (`--only`, `--fast`, …), and so explain its gaps. */
  narrowed_by: string[];
  /** False if the plan was narrowed, a check blocked, a demand unmet, or the run interrupted. */
  complete: boolean;
  started_at: string;
  duration_ms: number;
  /** Arguments of the command, without secrets. */
  arguments?: string[];
  /** Options by name, without secrets and defaults; `muster replay` starts from them. */
  options?: Readonly<Record<string, string | number | boolean | readonly (string | number)[]>>;
  exit_code: number;
  summary: Summary;
  coverage: Coverage;
  profile_coverage: Coverage;
  /** Unmet demands of `--require`, `--min-decided` and `--repeat`, a sentence each; the exit code is at least 2. */
  unmet?: string[];
  /** Declarations that the run observed; a false one makes the exit code at least 2. */
  declarations?: Declaration[];
  /** Reason why the target could not be reached, with advice; nothing was decided. */
  unreachable?: string;
  interrupted?: true;
  replay_of?: ReplayOf;
  /** Traffic of others that was judged; the run asked nothing. */
  watched?: Watched;
  checks: CheckResult[];
}

export interface Watched {
  connections: number;
  exchanges: number;
  events: number;
  /** Unjudged and unknown traffic, a sentence each. */
  gaps: string[];
}

export interface ReplayOf {
  file: string;
  /** Outcomes in that report, by id. */
  outcomes: Record<string, Outcome>;
}

/** Tested implementation. Never holds a secret. */
export interface TargetDescription {
  /** `unix`, `loopback`, `url`, `image`, `command`, `simulator`, … */
  kind: string;
  /** E.g. `unix:/run/agent.sock`. */
  address: string;
  capabilities: Capability[];
  control: string;
  api_version?: string;
  dialect?: string;
  name?: string;
  version?: string;
  /** Platform of a system run, as the tester names it. */
  platform?: { name: string; version?: string };
  /** `sha256:…` of the implementation, if Muster ran and measured it. */
  digest?: string;
  /** Marks a target that Muster started and ended: nothing serves at its address any more. */
  ended?: true;
  /** Measured thing: the image, or the file that the command executed. */
  digest_of?: 'image' | 'executable';
  executable?: string;
  digest_missing?: string;
  /** File that the tester names as the implementation; nothing shows that this file ran. */
  artifact?: { name: string; digest: string };
}
