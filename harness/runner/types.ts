/** Checks, their context, and the results of a run. No requirement is known here. */
import type { Recorded } from '../client/recorder.ts';
import type { Mark } from '../client/timeline.ts';
import type { Capability } from '../contract/capabilities.ts';
import type { Declaration } from './declarations.ts';
import type { Rule } from './rules.ts';
import type { Deviation, Session } from './session.ts';

export { CAPABILITIES, type Capability } from '../contract/capabilities.ts';

/** Levels of a requirement; `INFO` where the specification is silent. */
export const LEVELS = ['MUST', 'SHOULD', 'INFO'] as const;
export type Level = (typeof LEVELS)[number];

/** Subjects of a suite: one of the two APIs, the whole service, or a client of it. */
export const APIS = ['device', 'platform', 'system', 'client'] as const;
export type Api = (typeof APIS)[number];

/** Sentence of the specification that an implementation must, or should, keep to. */
export interface Requirement {
  /** Stable slug, e.g. `device.events.replay.exclusive`. */
  id: string;
  level: Level;
  /** Section of the specification it rests on, e.g. `6.2`. */
  section: string;
  /** Date of the first requirement set with it (YYYY-MM-DD). */
  since: string;
  /** Date of the first requirement set without it. */
  until?: string;
  /** Sentence of the specification that it rests on, quoted; absent where the specification is silent. */
  clause?: string;
  /** Requirement in one sentence, in Muster's words. */
  text: string;
  /** Marks a SHOULD that protects others: secrets, and servers from storms. The profile `full` holds a target to it. */
  protective?: true;
}

/**
 * Use of the target beside other checks.
 * `shared`: only reads, or tolerates whatever others do; runs beside everything.
 * `publishing`: makes events, and follows its own by their ids; as `exclusive`, but several at once where that is slow.
 * `exclusive`: drives the target and has to be alone in that; runs one at a time, beside `shared` and waits.
 * `disruptive`: stops, kills, compacts or crowds the target; runs alone, after everything else has ended.
 */
export type Sharing = 'shared' | 'publishing' | 'exclusive' | 'disruptive';

/** Check as data: the runner decides when, with what seed and how often it runs. */
export interface Check<Context> {
  /** Id of the requirement, with one more word where several checks decide it. */
  id: string;
  requirement: Requirement;
  /** Capabilities that the target has to declare, all of them. */
  needs?: readonly Capability[];
  sharing?: Sharing;
  /** Whether it idles for seconds: left out by `--fast`, otherwise run beside everything else. */
  slow?: boolean;
  /**
   * Whether it checks how the target is found, such as its discovery file, so that it runs even when nothing answers.
   */
  runsWhenUnreachable?: boolean;
  /**
   * Place in its lane, whose order the seed draws. `first`: before the others, as it needs a complete log. `last`:
   * after the others and the exclusive ones, as it looks at their traces, or leaves damage itself.
   */
  turn?: 'first' | 'last';
  /** Whether it sends a platform more than GET requests: left out by `--read-only`. */
  writes?: boolean;
  /** Runs with `--profile core` too. */
  profile?: 'core';
  /**
   * Ids of plainer checks that it rests on. It waits for those that run too, and its finding may follow from theirs. A
   * premise runs in the same lane or in an earlier one: `shared`, `exclusive`, `disruptive`.
   */
  premises?: readonly string[];
  /** Sightings needed to pass, by name, e.g. `{ compactions: 1 }`; with fewer it is undecided. Default: one answer. */
  least?: Readonly<Record<string, number>>;
  /** Advice for a check that saw less, in words. */
  orElse?: string;
  /** Whether a failure blocks all checks that rest on it, since nothing can be asked any more. */
  essential?: boolean;
  /** Deviation that later checks allow for once this one has failed. */
  deviation?: Deviation;
  /** Rule that judges what other checks see, made anew for each run; the check itself asks nothing. */
  rule?: () => Rule;
  /** Whether it depends on secrets, which a recording of traffic does not hold. */
  bySecrets?: true;
  run(context: Context & CheckContext): Promise<void>;
}

export interface Suite<Context> {
  api: Api;
  /** Dates of the requirement sets (YYYY-MM-DD), oldest first. */
  requirementSets: readonly string[];
  checks: readonly Check<Context>[];
}

/** Requirement set that a run held a target to, in reports and certificates. */
export interface RequirementSet {
  /** YYYY-MM-DD. */
  date: string;
  /** `sha256:…` over the set's requirements of one API. */
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
 * `fail`: a MUST does not hold. `warn`: a SHOULD does not. `not_applicable`: a capability is not declared, left out by
 * an option, or the specification leaves the target free. `undecided`: the check saw too little. `blocked`: the set-up
 * or the harness failed, nothing was decided. `known`: fails as the baseline says. `flaky`: fails sometimes, as the
 * baseline says; it may have passed this time. `fixed`: the baseline says it fails, and it does not.
 */
export type Outcome = (typeof OUTCOMES)[number];

/** Violation in words. Field names are those of the JSON report. */
export interface Finding {
  /** Level that was judged, where it is not that of the requirement. */
  level?: Level;
  /** Every acceptable answer. */
  expected: string;
  actual: string;
  /** Smallest input that shows it. */
  counterexample?: unknown;
  /** Coordinates of the counterexample in fast-check; `path` is `n/…` for the n-th property of a check (from 0). */
  seed?: number;
  path?: string;
  replay_path?: string;
  /** Shell line that reproduces the finding; absent where something has to be driven first. */
  curl?: string;
  /** POSIX shell script that drives the target and asks it again, in the order of the check. */
  script?: string;
  exchanges?: Recorded[];
  /** Actions and observations of the check on one axis of time. */
  timeline?: Mark[];
}

/** Failures of a check, of the attempts with an outcome about the target. */
export interface Rate {
  times: number;
  failed: number;
  /** Those of the attempts without another check beside them. */
  alone: { times: number; failed: number };
  /** Reason why a finding was not retried alone. */
  not_tried?: string;
}

/** Hooks of a context with which the target influences the outcome of a check. */
export interface TargetHooks {
  /**
   * Called before the check. Throws Blocked when nothing can be decided now, or a Violation for the target's doing
   * since the last check. `id`: of the check.
   */
  prepare?(requirement: Requirement, id: string): Promise<void>;
  /** Interprets an error that ended the check, in view of the target's state: the same error, or another one. */
  reconsider?(error: unknown): Promise<unknown>;
  /** Called after the check with its error. Returns the error for a check that would pass. */
  afterCheck?(error?: unknown): Error | undefined;
  /** End of the target's standard error during the check. */
  standardError?(): string;
}

/** Tools of every check, beside the context of its API. */
export interface CheckContext {
  /** Ends the check unless `holds`: as `fail`, or as `warn` when its requirement is a SHOULD. */
  must(holds: unknown, finding: { expected: string; actual: unknown; counterexample?: unknown }): asserts holds;
  /** Records a violated convention, and goes on. A check that passes otherwise ends as `warn`. */
  should(holds: unknown, finding: { expected: string; actual: unknown }): void;
  /** Records a remark about the run in one sentence. Never changes the outcome. */
  note(observation: string): void;
  /**
   * Records the target's choice where the specification is silent, for `muster compare`. Never changes the outcome.
   * @param name the question, e.g. `GET /devices?limit=0`; the same for every implementation
   * @param value the answer, e.g. `limit 10`; the same in every run
   */
  observe(name: string, value: string | number): void;
  /** Ends the check as `not_applicable`: the specification leaves the target free, for that reason. */
  notApplicable(reason: string): never;
  /** Ends the check as `undecided`: it saw too little, for that reason. */
  undecided(reason: string): never;
  /** Counts sightings for `least`. Answers, events and inputs are counted anyway. */
  saw(what: string, count?: number): void;
  /** Ends the check as `blocked`: its set-up failed, so nothing is decided. */
  blocked(reason: string): never;
  /**
   * Runs a property: fast-check with the run's seed and number of runs, shrinking to the smallest counterexample; the
   * finding of the failing predicate (by `must`, or any Violation) is reported with counterexample, seed and path.
   */
  property<T>(
    arbitrary: Arbitrary<T>,
    predicate: (value: T) => Promise<void>,
    options?: PropertyOptions<NoInfer<T>>,
  ): Promise<void>;
  /** Knowledge of the target, shared by all of its checks. */
  readonly session: Session;
  /** Whether the target has shown this deviation. The reader then allows for it, and the report says so. */
  allowsFor(deviation: Deviation): boolean;
  /** Whether the requirement is no MUST: a timeout then shortens no wait of one. */
  readonly lenient: boolean;
  /** Whether its finding may follow from another one, which shows the cause more plainly. */
  readonly follows: boolean;
  /** Seed of this check: the same for the same `--seed` and check id, whatever else runs. */
  readonly seed: number;
  /** Seed of the run, for what checks share. */
  readonly runSeed: number;
  /** Aborts when the run is interrupted or the check exceeds its time. */
  readonly signal: AbortSignal;
  /** Milliseconds left for the whole run (from `--max-time`); Infinity without a limit. */
  remainingMs(): number;
  /** Milliseconds left for this check, which is blocked then. */
  leftMs(): number;
  /** Multiplier for `numRuns` (from `--runs`). */
  readonly runs: number;
  /** Path of a model-based counterexample to run again, for `fc.commands`. */
  readonly replayPath: string | undefined;
}

export interface PropertyOptions<T> {
  /** Runs at `--runs 1` scale. Default 25. */
  runs?: number;
  examples?: [unknown][];
  /** Counterexample in the reader's words, for the report. Default: as fast-check writes it. */
  describe?(value: T): string;
}

type Arbitrary<T> = import('fast-check').Arbitrary<T>;

/** Line of a report. Field names are those of the JSON report. */
export interface CheckResult extends Partial<Finding> {
  id: string;
  /** Level that was judged: SHOULD for a violated SHOULD inside a check of a MUST. */
  level: Level;
  section: string;
  requirement: string;
  /** Sentence of the specification that it rests on. */
  clause?: string;
  requirement_id: string;
  outcome: Outcome;
  duration_ms: number;
  /**
   * Reason why it is not applicable, undecided, blocked, known, flaky or fixed, or why the baseline does not excuse it.
   */
  reason?: string;
  /** Id of the failed check that blocks this one. */
  blocked_by?: string;
  /** Id of the failed check from which this finding may follow: it shows the cause more plainly. */
  consequence_of?: string;
  /** Checks that asked for the subject of a rule's finding. */
  seen_by?: string[];
  /** Names of the deviations that its readers allowed for, so as to look at its subject. */
  allowed_for?: string[];
  /** Deviation of a failed check that later checks allowed for. */
  deviation?: Deviation;
  /** Last lines of the target's standard error, of a check that did not pass. */
  stderr?: string;
  /** Whether the profile of the run holds the target to it. */
  in_profile?: true;
  /** Sightings by name: `answers`, `events`, `inputs` and counts of its own. */
  saw?: Readonly<Record<string, number>>;
  /** Option or profile that makes a warning fail the run, such as `--fail-on should`. */
  fails_by?: string;
  /** Marks a fault of Muster: the check is blocked, and the exit code is 3. */
  fault?: true;
  /** Failure rate, of a finding or a repeated check. */
  rate?: Rate;
  /** Observations where the specification is silent, and SHOULDs noted on the way, in words. */
  observations?: string[];
  /** Observations that can be compared with those of another implementation. */
  observed?: Observed[];
  needs?: Capability[];
  /** Command line that runs this check alone again; absent where it would show nothing. */
  replay_command?: string;
}

/** Choice of the target where the specification is silent. */
export interface Observed {
  /** Question, the same for every implementation. */
  name: string;
  value: string;
}

export type Summary = Record<Outcome, number>;

/** Decided part of a requirement set. The numbers of `undecided` and `decided` add up to `checks`. */
export interface Coverage {
  /** Checks of the requirement set, whatever the run was narrowed to. */
  checks: number;
  /** Checks with an outcome about the target. */
  decided: number;
  /** Undecided checks by reason, most first. */
  undecided: Undecided[];
}

/** Checks that were not decided, for one reason. */
export interface Undecided {
  checks: number;
  /** Reason, as the end of a sentence that begins with the number: `need drive`. */
  why: string;
  /** Missing capability that comes before any other. */
  needs?: Capability[];
  /** Addition to the command line that would decide them; absent where none helps. */
  add?: string;
}

/** JSON report. Times are ISO 8601, durations milliseconds. */
export interface Report {
  muster: string;
  api: Api;
  seed: number;
  target: TargetDescription;
  profile: string;
  /** Date of the requirement set that was run (YYYY-MM-DD). */
  requirements_version: string;
  /** `sha256:…` over that set's requirements of this API, whatever part of them the run was narrowed to. */
  requirements_digest?: string;
  /** Number of rounds, if more than one. */
  repeat?: number;
  /** Options that narrowed the run (`--only`, `--fast`, …), so that a report shows its gaps. */
  narrowed_by: string[];
  /** False when the plan was narrowed, a check was blocked, a demand was not met, or the run was interrupted. */
  complete: boolean;
  started_at: string;
  duration_ms: number;
  /** Arguments of the command, without secrets. */
  arguments?: string[];
  /** Parsed options by name, without secrets and defaults; `muster replay` starts from them. */
  options?: Readonly<Record<string, string | number | boolean | readonly (string | number)[]>>;
  exit_code: number;
  summary: Summary;
  coverage: Coverage;
  profile_coverage: Coverage;
  /**
   * Demands of `--require`, `--min-decided` and `--repeat` that were not met, a sentence each; the exit code is at
   * least 2.
   */
  unmet?: string[];
  /** Declarations that the run observed; one that does not hold makes the exit code at least 2. */
  declarations?: Declaration[];
  /** Reason why the target could not be reached, with advice; then nothing was decided. */
  unreachable?: string;
  interrupted?: true;
  /** Report that `muster replay` repeated. */
  replay_of?: ReplayOf;
  /** Marks judged traffic of others, in a run that asked nothing itself. */
  watched?: Watched;
  checks: CheckResult[];
}

/** Observed part of the traffic of others. */
export interface Watched {
  connections: number;
  exchanges: number;
  events: number;
  /** Unjudged and unknown parts of the traffic, a sentence each. */
  gaps: string[];
}

/** Report whose findings a replay ran again. */
export interface ReplayOf {
  file: string;
  /** Outcomes of those checks then, by id. */
  outcomes: Record<string, Outcome>;
}

/** Tested implementation, in words and as data. Never holds a secret. */
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
  /** Platform of a system run, by the names that the tester gives it. */
  platform?: { name: string; version?: string };
  /** `sha256:…` of the implementation that Muster ran, when it could be measured. */
  digest?: string;
  /** Marks a target that Muster started and ended, so that nothing serves at that address any more. */
  ended?: true;
  /** Subject of `digest`: the image, or the file that the command executed. */
  digest_of?: 'image' | 'executable';
  executable?: string;
  /** Reason why the command has no digest. */
  digest_missing?: string;
  /** File that the tester names as the implementation. Nothing shows that it is what ran. */
  artifact?: { name: string; digest: string };
}
