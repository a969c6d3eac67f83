/** What a check is, what it is given, and what a run of checks yields. No requirement is known here. */
import type { Recorded } from '../client/recorder.ts';
import type { Mark } from '../client/timeline.ts';
import type { Capability } from '../contract/capabilities.ts';
import type { Declaration } from './declarations.ts';
import type { Rule } from './rules.ts';
import type { Deviation, Session } from './session.ts';

export { CAPABILITIES, type Capability } from '../contract/capabilities.ts';

/** How strictly the specification asks for something; `INFO` where it is silent. */
export const LEVELS = ['MUST', 'SHOULD', 'INFO'] as const;
/** The level of a requirement. */
export type Level = (typeof LEVELS)[number];

/** What can be checked: one of the two APIs, the whole service, or a client of it. */
export const APIS = ['device', 'platform', 'system', 'client'] as const;
/** What a suite checks. */
export type Api = (typeof APIS)[number];

/** One sentence of the specification that an implementation must, or should, keep to. */
export interface Requirement {
  /** Stable slug, e.g. `device.events.replay.exclusive`. */
  id: string;
  level: Level;
  /** Section of the specification it rests on, e.g. `6.2`. */
  section: string;
  /** Date of the first requirement set that holds it (YYYY-MM-DD). */
  since: string;
  /** Date of the first requirement set that does not hold it any more. */
  until?: string;
  /** The sentence of the specification that it rests on, quoted; absent where the specification says nothing. */
  clause?: string;
  /** The requirement in one sentence, in Muster's words. */
  text: string;
  /** A SHOULD that protects others: secrets, and servers from storms. The profile `full` holds a target to it. */
  protective?: true;
}

/**
 * How a check shares the target with others.
 * `shared`: only reads, or tolerates whatever others do; runs beside everything.
 * `publishing`: makes events, and follows its own by their ids; as `exclusive`, but several at once where that is slow.
 * `exclusive`: drives the target and needs to be the only one that does; runs one at a time, beside `shared` and waits.
 * `disruptive`: stops, kills, compacts or crowds the target; runs alone, after everything else has ended.
 */
export type Sharing = 'shared' | 'publishing' | 'exclusive' | 'disruptive';

/** A check is data: the runner decides when, with what seed and how often it runs. */
export interface Check<Context> {
  /** The requirement's id, or that id and one more word where several checks decide one requirement. */
  id: string;
  requirement: Requirement;
  /** All of these must be declared by the target. */
  needs?: readonly Capability[];
  sharing?: Sharing;
  /** Needs seconds of idle waiting: left out by `--fast`, overlapped with everything else. */
  slow?: boolean;
  /** Checks how the target is found, such as its discovery file; runs even when nothing answers there. */
  runsWhenUnreachable?: boolean;
  /**
   * The order of checks is drawn from the seed of the run. `first`: before the others of its lane, as it needs a log
   * that nothing is gone from. `last`: after them and after the exclusive ones, as it looks at what they have left, or
   * leaves damage itself.
   */
  turn?: 'first' | 'last';
  /** Sends a platform more than GET requests: left out by `--read-only`. */
  writes?: boolean;
  /** Runs with `--profile core` too. */
  profile?: 'core';
  /**
   * Ids of plainer checks, on which this one rests. It waits for those that run too, and what it finds may follow from
   * what they found. A premise runs in the same lane or in an earlier one: `shared`, `exclusive`, `disruptive`.
   */
  premises?: readonly string[];
  /**
   * What the check must have seen to pass, by name, e.g. `{ compactions: 1 }`; below that it is undecided. Default: one
   * answer.
   */
  least?: Readonly<Record<string, number>>;
  /** What would make it decidable when it has seen less, in words. */
  orElse?: string;
  /** Without what this check asks for, nothing can be asked that rests on it: when it fails, that is blocked. */
  essential?: boolean;
  /** What the readers of later checks allow for once this one has failed. */
  deviation?: Deviation;
  /** It asks nothing itself, and judges what other checks see. Made anew for each run. */
  rule?: () => Rule;
  /** It goes by secrets, which a recording of traffic does not hold. */
  bySecrets?: true;
  run(context: Context & CheckContext): Promise<void>;
}

/** All checks of one API. */
export interface Suite<Context> {
  api: Api;
  /** Dates of the requirement sets (YYYY-MM-DD), oldest first. */
  requirementSets: readonly string[];
  checks: readonly Check<Context>[];
}

/** What a run or a certificate says of the requirements that it held a target to. */
export interface RequirementSet {
  /** YYYY-MM-DD. */
  date: string;
  /** `sha256:…` over the set's requirements of one API. */
  digest: string;
}

/** What can come of a check. */
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
 * an option, or the specification leaves the target free. `undecided`: the check saw too little to decide anything.
 * `blocked`: the set-up or the harness failed, nothing was decided. `known`: fails as the baseline says.
 * `flaky`: fails now and then, as the baseline says; it may have passed this time. `fixed`: the baseline says it fails,
 * and it does not.
 */
export type Outcome = (typeof OUTCOMES)[number];

/** What a check found wrong. Field names are those of the JSON report. */
export interface Finding {
  /** The level that was judged, where that is not the level of the requirement. */
  level?: Level;
  /** Every acceptable answer. */
  expected: string;
  actual: string;
  /** Smallest input that shows it. */
  counterexample?: unknown;
  /** The fast-check coordinates of the counterexample; `path` is `n/…` for the n-th property of a check (from 0). */
  seed?: number;
  path?: string;
  replay_path?: string;
  /** Shell line that shows the finding alone; absent where something has to be driven first. */
  curl?: string;
  /** POSIX shell script that drives the target and asks it again, in the order of the check. */
  script?: string;
  exchanges?: Recorded[];
  /** What the check did and saw, on one axis of time. */
  timeline?: Mark[];
}

/** How often a check failed, of the times that it came to an outcome about the target. */
export interface Rate {
  times: number;
  failed: number;
  /** The same of those times when no other check was under way. */
  alone: { times: number; failed: number };
  /** Why a finding was not tried again alone. */
  not_tried?: string;
}

/** What the context of a check may offer to the runner: the say of the target in what becomes of the check. */
export interface TargetHooks {
  /**
   * Called before the check. Throws Blocked when nothing can be decided now, or a Violation for what the target did
   * meanwhile. `id`: of the check.
   */
  prepare?(requirement: Requirement, id: string): Promise<void>;
  /** What an error that ended the check means, in view of what the target knows: the same error, or another one. */
  reconsider?(error: unknown): Promise<unknown>;
  /** Called after the check, with what ended it. Gives what ends one that would pass. */
  over?(error?: unknown): Error | undefined;
  /** The end of what the target wrote to its standard error while the check was under way. */
  wrote?(): string;
}

/** What the runner gives to every check, beside the context of its API. */
export interface CheckContext {
  /** Ends the check unless `holds`: as `fail`, or as `warn` when its requirement is a SHOULD. */
  must(holds: unknown, finding: { expected: string; actual: unknown; counterexample?: unknown }): asserts holds;
  /** Records a convention that does not hold, and goes on. A check that passes otherwise ends as `warn`. */
  should(holds: unknown, finding: { expected: string; actual: unknown }): void;
  /** Records a remark about the run in one sentence. Never changes the outcome. */
  note(observation: string): void;
  /**
   * Records what the target does where the specification is silent, for `muster compare`. Never changes the outcome.
   * @param name what was asked, e.g. `GET /devices?limit=0`; the same for every implementation
   * @param value what came of it, e.g. `limit 10`; the same in every run
   */
  observe(name: string, value: string | number): void;
  /** Ends the check as `not_applicable`: the specification leaves the target free to be so, for that reason. */
  notApplicable(reason: string): never;
  /** Ends the check as `undecided`: it saw too little, for that reason. */
  undecided(reason: string): never;
  /** Counts what the check has seen, which `least` asks for. Answers, events and inputs are counted anyway. */
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
  /** What is known of the target, shared by all checks of it. */
  readonly session: Session;
  /** Whether the target has been seen to deviate so. The reader then allows for it, and the report says so. */
  allowsFor(deviation: Deviation): boolean;
  /** The requirement is no MUST: a wait in vain shortens no wait of one. */
  readonly lenient: boolean;
  /** What it finds may follow from another finding, which shows the cause more plainly. */
  readonly follows: boolean;
  /** Seed of this check: the same for the same `--seed` and check id, whatever else runs. */
  readonly seed: number;
  /** Aborts when the run is interrupted or the check exceeds its time. */
  readonly signal: AbortSignal;
  /** Milliseconds that the whole run may still take (from `--max-time`); Infinity where it has no limit. */
  remainingMs(): number;
  /** Milliseconds that this check may still take: then it is blocked. */
  leftMs(): number;
  /** Multiplier for `numRuns` (from `--runs`). */
  readonly runs: number;
  /** Given when a counterexample of a model-based property is run again: pass it to `fc.commands`. */
  readonly replayPath: string | undefined;
}

/** How a property is run. */
export interface PropertyOptions<T> {
  /** Runs at `--runs 1` scale. Default 25. */
  runs?: number;
  examples?: [unknown][];
  /** How a counterexample is written in the report, in the reader's words. Default: as fast-check writes it. */
  describe?(value: T): string;
}

type Arbitrary<T> = import('fast-check').Arbitrary<T>;

/** One line of a report. Field names are those of the JSON report. */
export interface CheckResult extends Partial<Finding> {
  id: string;
  /** The level that was judged: SHOULD where a SHOULD did not hold inside a check of a MUST. */
  level: Level;
  section: string;
  /** The requirement in words. */
  requirement: string;
  /** The sentence of the specification that it rests on. */
  clause?: string;
  requirement_id: string;
  outcome: Outcome;
  duration_ms: number;
  /** Why it is not applicable, undecided, blocked, known, flaky or fixed; why the baseline does not excuse it. */
  reason?: string;
  /** Id of the failed check without which this one could not be asked; given when that is why it is blocked. */
  blocked_by?: string;
  /** Id of the failed check from which this finding may follow: it shows the cause more plainly. */
  consequence_of?: string;
  /** Of a finding of a rule: the checks that asked for what it is about. */
  seen_by?: string[];
  /** Names of the deviations that its readers allowed for, so that it looked at what it is about. */
  allowed_for?: string[];
  /** Of a failed check: the deviation that later checks allowed for. */
  deviation?: Deviation;
  /** The last lines that the target wrote to its standard error, of a check that did not pass. */
  stderr?: string;
  /** The profile of the run holds the target to it. */
  in_profile?: true;
  /** What the check has seen, by name: `answers`, `events`, `inputs` and what it counts itself. */
  saw?: Readonly<Record<string, number>>;
  /** Of a warning: what makes the run fail for it, such as `--fail-on should`. */
  fails_by?: string;
  /** Muster itself went wrong: blocked, and the run ends with exit code 3. */
  fault?: true;
  /** Of a finding, and of every check that was to run several times. */
  rate?: Rate;
  /** What was recorded where the specification is silent, and SHOULDs noted on the way, in words. */
  observations?: string[];
  /** The choices among them that can be compared with those of another implementation. */
  observed?: Observed[];
  needs?: Capability[];
  /** Command line that runs this check alone again; absent where there is nothing to find that way. */
  replay_command?: string;
}

/** A choice of the target where the specification is silent. */
export interface Observed {
  /** What was asked, the same for every implementation. */
  name: string;
  /** What came of it. */
  value: string;
}

/** Number of checks with each outcome. */
export type Summary = Record<Outcome, number>;

/** How much of the requirement set a run decided. The numbers of `undecided` and `decided` add up to `checks`. */
export interface Coverage {
  /** Checks of the requirement set, whatever the run was narrowed to. */
  checks: number;
  /** Those that came to an outcome about the target. */
  decided: number;
  /** The others by what kept them from it, most first. */
  undecided: Undecided[];
}

/** Checks that were not decided, for one reason. */
export interface Undecided {
  checks: number;
  /** Completes a sentence that begins with that number: `need drive`. */
  why: string;
  /** The capability that the target lacks for them, and that comes before any other. */
  needs?: Capability[];
  /** What to add to the command line to have them decided; absent where nothing would help. */
  add?: string;
}

/** The JSON report. Times are ISO 8601, durations milliseconds. */
export interface Report {
  /** Muster's version. */
  muster: string;
  api: Api;
  seed: number;
  target: TargetDescription;
  profile: string;
  /** Date of the requirement set that was run (YYYY-MM-DD). */
  requirements_version: string;
  /** `sha256:…` over that set's requirements of this API, whatever part of them the run was narrowed to. */
  requirements_digest?: string;
  /** How often every check was run, where that is more than once. */
  repeat?: number;
  /** Options that narrowed the run (`--only`, `--fast`, …), so that a report says what it does not cover. */
  narrowed_by: string[];
  /**
   * False when the plan was narrowed, something was blocked, less was decided than asked for, or the run was
   * interrupted.
   */
  complete: boolean;
  started_at: string;
  duration_ms: number;
  /** The command's own arguments, without secrets. */
  arguments?: string[];
  /**
   * Its options as parsed, by name and without secrets; `muster replay` starts from them. Those that have their default
   * are left out.
   */
  options?: Readonly<Record<string, string | number | boolean | readonly (string | number)[]>>;
  exit_code: number;
  summary: Summary;
  coverage: Coverage;
  /** How much of the profile was decided. */
  profile_coverage: Coverage;
  /**
   * What `--require`, `--min-decided` and `--repeat` asked for in vain, a sentence each; the exit code is 2 then, or
   * worse.
   */
  unmet?: string[];
  /** What the target declares that the run has seen; where one does not hold, the exit code is 2, or worse. */
  declarations?: Declaration[];
  /** Why the target could not be reached, and what to try; then nothing was decided. */
  unreachable?: string;
  /** The run was interrupted. */
  interrupted?: true;
  /** What `muster replay` ran again. */
  replay_of?: ReplayOf;
  /** Of traffic that others made: nothing was asked. */
  watched?: Watched;
  checks: CheckResult[];
}

/** How much of the traffic of others was seen. */
export interface Watched {
  connections: number;
  exchanges: number;
  /** Events of event streams. */
  events: number;
  /** What was seen and not judged, and what is not known of the rest, a sentence each. */
  gaps: string[];
}

/** The report whose findings a replay ran again. */
export interface ReplayOf {
  file: string;
  /** Outcomes of those checks then, by id. */
  outcomes: Record<string, Outcome>;
}

/** What was tested, in words and as data. Never holds a secret. */
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
  /** `sha256:…` of what Muster itself ran, when it could be measured. */
  digest?: string;
  /** Muster started it for the run and ended it after, so nothing serves at that address any more. */
  ended?: true;
  /** What `digest` is of: the image, or the file that the command executed. */
  digest_of?: 'image' | 'executable';
  /** Name of that file. */
  executable?: string;
  /** Why there is no digest of the command that Muster ran. */
  digest_missing?: string;
  /** A file that the tester names as the implementation. Nothing shows that it is what ran. */
  artifact?: { name: string; digest: string };
}
