import type { Recorded } from '../client/recorder.ts';
import type { Mark } from '../client/timeline.ts';
import type { Capability } from '../contract/capabilities.ts';
import type { Declaration } from './declarations.ts';
import type { Rule } from './rules.ts';
import type { Deviation, Session } from './session.ts';

export { CAPABILITIES, type Capability } from '../contract/capabilities.ts';

/** `INFO` marks a requirement about which the specification is silent. */
export const LEVELS = ['MUST', 'SHOULD', 'INFO'] as const;
export type Level = (typeof LEVELS)[number];

/** Subjects of the suites: the device API, the platform API, the whole service, and a client of the service. */
export const APIS = ['device', 'platform', 'system', 'client'] as const;
export type Api = (typeof APIS)[number];

export interface Requirement {
  /** Stable id, e.g. `device.events.replay.exclusive`. */
  id: string;
  level: Level;
  section: string;
  /** Date of the first requirement set with the requirement (YYYY-MM-DD). */
  since: string;
  /** Date of the first requirement set without the requirement (YYYY-MM-DD). */
  until?: string;
  /** Quoted sentence of the specification; absent if the specification is silent. */
  clause?: string;
  text: string;
  /** Marks a SHOULD that the profile `full` demands, because it prevents leaked secrets or request storms. */
  protective?: true;
}

/**
 * Use of the target by a check, which decides whether the check may run in parallel.
 * `shared`: only reads. `publishing`: creates events, and recognises its own events by id.
 * `exclusive`: changes the target; never runs beside another exclusive check.
 * `disruptive`: disturbs all users of the target, e.g. by a restart; runs last, without others.
 */
export type Sharing = 'shared' | 'publishing' | 'exclusive' | 'disruptive';

export interface Check<Context> {
  /** Id of the requirement, followed by an aspect if several checks decide the requirement. */
  id: string;
  requirement: Requirement;
  needs?: readonly Capability[];
  sharing?: Sharing;
  /** True if the check waits for seconds; `--fast` leaves it out. `beside`: may wait for the end of other checks. */
  slow?: boolean | 'beside';
  /** True if the check needs no answer of the target, e.g. a check of the discovery file. */
  runsWhenUnreachable?: boolean;
  /**
   * Position of the check in the otherwise random order.
   * `first`: needs a complete event log. `last`: inspects effects of earlier checks, or damages the target.
   */
  turn?: 'first' | 'last';
  /** True if the check sends more than GET requests to a platform; `--read-only` leaves it out. */
  writes?: boolean;
  profile?: 'core';
  /**
   * Ids of simpler checks that run first; their failure may explain a finding of this check.
   * A premise must not have a later `sharing`, in the order `shared`, `exclusive`, `disruptive`.
   */
  premises?: readonly string[];
  /** Counts of observations needed to pass, e.g. `{ compactions: 1 }`; a check with fewer is `undecided`. */
  least?: Readonly<Record<string, number>>;
  orElse?: string;
  /**
   * False for checks that share an exploration, because a request in the form of one check would decide the others too.
   */
  varied?: false;
  /** True if a failure of the check blocks all dependants. */
  essential?: boolean;
  /** True if the check sends its requests outside of the API; rules do not judge their answers. */
  outsideApi?: boolean;
  /** Deviation that later checks tolerate once this check has failed. */
  deviation?: Deviation;
  /** Creates the rule that examines the traffic of other checks; a check with a rule sends nothing. */
  rule?: () => Rule;
  /** True if the rule needs secrets, which recorded traffic does not contain. */
  bySecrets?: true;
  run(context: Context & CheckContext): Promise<void>;
}

export interface Suite<Context> {
  api: Api;
  /** Dates of requirement sets (YYYY-MM-DD), oldest first. */
  requirementSets: readonly string[];
  checks: readonly Check<Context>[];
}

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
 * `fail`: violates a MUST. `warn`: violates a SHOULD.
 * `not_applicable`: a capability is missing, an option excludes the check, or the target is free to choose.
 * `undecided`: too little was seen. `blocked`: the set-up, the connection, an essential premise or Muster failed, or
 * the time of the run or of the check ended.
 * `known`: fails as the baseline expects. `flaky`: may fail, as the baseline expects.
 * `fixed`: passes although the baseline expects a failure.
 */
export type Outcome = (typeof OUTCOMES)[number];

/** Violation of a requirement; field names are those of the JSON report. */
export interface Finding {
  /** Default: the level of the requirement. */
  level?: Level;
  /** Describes every acceptable answer. */
  expected: string;
  actual: string;
  /** Smallest failing input. */
  counterexample?: unknown;
  /**
   * Seed with which `path` replays the counterexample in fast-check; `path` is `n/…` for the n-th property of a check,
   * from 0.
   */
  seed?: number;
  path?: string;
  replay_path?: string;
  /** Shell line that reproduces the finding; absent if the finding needs calls of the control API. */
  curl?: string;
  /** POSIX shell script that repeats the control calls and requests of the check. */
  script?: string;
  exchanges?: Recorded[];
  timeline?: Mark[];
}

export interface Rate {
  times: number;
  failed: number;
  alone: { times: number; failed: number };
  not_tried?: string;
}

export interface TargetHooks {
  /**
   * Called before the check.
   * Throws Blocked if the target cannot be tested now, or Violation if the target failed since the last check.
   */
  prepare?(requirement: Requirement, id: string): Promise<void>;
  /** Returns a more exact error for an error that ended the check, e.g. after the target's process ended. */
  reconsider?(error: unknown): Promise<unknown>;
  afterCheck?(error?: unknown): Error | undefined;
  standardError?(): string;
}

export interface CheckContext {
  /** Ends the check if `holds` is false: a MUST as `fail`, a SHOULD as `warn`, an INFO as `pass` with a remark. */
  must(holds: unknown, finding: { expected: string; actual: unknown; counterexample?: unknown }): asserts holds;
  /** Records a violated SHOULD if `holds` is false, and continues; an otherwise passing check ends as `warn`. */
  should(holds: unknown, finding: { expected: string; actual: unknown }): void;
  /** Records a remark of one sentence, which never changes the outcome. */
  note(observation: string): void;
  /**
   * Records a choice that the specification leaves open, for `muster compare`. Never changes the outcome.
   * @param name question, e.g. `GET /devices?limit=0`; the same for every implementation
   * @param value answer, e.g. `limit 10`; the same in every run
   */
  observe(name: string, value: string | number): void;
  /** Ends the check as `not_applicable`, e.g. because the specification allows any behaviour. */
  notApplicable(reason: string): never;
  undecided(reason: string): never;
  /** Counts observations for `least` of the check; requests, events and inputs are counted automatically. */
  saw(what: string, count?: number): void;
  /** Ends the check as `blocked`, because its set-up failed; `answer`: the refusal of the target, if there is one. */
  blocked(reason: string, answer?: { readonly status: number }): never;
  /**
   * Tests a predicate with random values from fast-check, and shrinks a failing value.
   * A predicate fails by `must` or a Violation; the finding names the counterexample, seed and path.
   */
  property<T>(
    arbitrary: Arbitrary<T>,
    predicate: (value: T) => Promise<void>,
    options?: PropertyOptions<NoInfer<T>>,
  ): Promise<void>;
  readonly session: Session;
  /** True if a check of another requirement has reported the deviation; the report then lists it as tolerated. */
  allowsFor(deviation: Deviation): boolean;
  /** True if the check decides a SHOULD or INFO; its timeouts do not shorten the waits of MUST checks. */
  readonly lenient: boolean;
  /** True if the failure of a premise may explain a finding of the check. */
  readonly follows: boolean;
  /** Seed of this check, derived from `--seed` and the check id only; in a replay, the seed of the finding. */
  readonly seed: number;
  /** Seed of the run, the same in every check. */
  readonly runSeed: number;
  /** Aborts when the run is interrupted or the check exceeds its time. */
  readonly signal: AbortSignal;
  /** Milliseconds left for the whole run (from `--max-time`); Infinity without a limit. */
  runTimeLeftMs(): number;
  /** Milliseconds until the time limit blocks this check. */
  checkTimeLeftMs(): number;
  readonly runs: number;
  /** Path of the counterexample to replay with model commands (`fc.commands`). */
  readonly replayPath: string | undefined;
}

export interface PropertyOptions<T> {
  /** Number of inputs with `--runs 1`. Default: 25. */
  runs?: number;
  examples?: [unknown][];
  /** Text of a counterexample. Default: fast-check's notation. */
  describe?(value: T): string;
}

type Arbitrary<T> = import('fast-check').Arbitrary<T>;

/** Result of one check; field names are those of the JSON report. */
export interface CheckResult extends Partial<Finding> {
  id: string;
  /** Level of the requirement, or of its violation: a check of a MUST may end with a violated SHOULD. */
  level: Level;
  section: string;
  requirement: string;
  clause?: string;
  requirement_id: string;
  outcome: Outcome;
  duration_ms: number;
  /** Reason of any outcome but pass, fail and warn, or why the baseline does not excuse the finding. */
  reason?: string;
  /** Id of the failed check that blocked this check. */
  blocked_by?: string;
  /** Id of the leading finding, which has the same cause. */
  consequence_of?: string;
  /** Ids of the checks whose requests led to the violation of the rule. */
  seen_by?: string[];
  /** Names of deviations that this check tolerated. */
  allowed_for?: string[];
  /** Deviation that later checks tolerated after this failure. */
  deviation?: Deviation;
  /** Last lines of the target's standard error, if the check did not pass. */
  stderr?: string;
  in_profile?: true;
  /** Counts of observations by name, e.g. `requests` or `events`, of a check that passed or saw too little. */
  saw?: Readonly<Record<string, number>>;
  /** Option or profile that lets this warning fail the run, e.g. `--fail-on should`. */
  fails_by?: string;
  /** A bug in Muster blocked the check; the exit code is 3, or 1 if a requirement failed. */
  fault?: true;
  rate?: Rate;
  observations?: string[];
  /** Choices of the target where the specification allows several, for `muster compare`. */
  observed?: Observed[];
  needs?: Capability[];
  /** Command that repeats only this check. */
  replay_command?: string;
}

export interface Observed {
  name: string;
  value: string;
}

export type Summary = Record<Outcome, number>;

/** Numbers of decided and undecided checks, which add up to `checks`. */
export interface Coverage {
  checks: number;
  decided: number;
  undecided: Undecided[];
}

export interface Undecided {
  checks: number;
  /** End of a sentence that begins with the number of checks, e.g. `need drive`. */
  why: string;
  needs?: Capability[];
  /** Option with which the checks can be decided, if there is one. */
  add?: string;
}

/** JSON report. Times are ISO 8601, durations milliseconds. */
export interface Report {
  muster: string;
  api: Api;
  seed: number;
  target: TargetDescription;
  profile: string;
  requirements_version: string;
  /** `sha256:…` of the whole requirement set of the API. */
  requirements_digest?: string;
  repeat?: number;
  /** Options that excluded checks, e.g. `--only`, `--fast`. */
  narrowed_by: string[];
  /**
   * False if options excluded checks, the profile was not decided, a check was blocked, a demand was unmet, no check
   * was decided, or the run was interrupted.
   */
  complete: boolean;
  started_at: string;
  duration_ms: number;
  /** Options by name, without secrets and defaults; `muster replay` starts from these options. */
  options?: Readonly<Record<string, string | number | boolean | readonly (string | number)[]>>;
  exit_code: number;
  summary: Summary;
  coverage: Coverage;
  profile_coverage: Coverage;
  /** Unmet demands as sentences, e.g. of `--require`, or of a watch that saw no answer; the run is then incomplete. */
  unmet?: string[];
  /** Declared and observed values of the target; a difference rules out the exit code 0, but not `complete`. */
  declarations?: Declaration[];
  unreachable?: string;
  interrupted?: true;
  replay_of?: ReplayOf;
  /** Set if the run judged others' traffic and sent nothing. */
  watched?: Watched;
  checks: CheckResult[];
}

export interface Watched {
  connections: number;
  exchanges: number;
  events: number;
  gaps: string[];
}

export interface ReplayOf {
  file: string;
  outcomes: Record<string, Outcome>;
}

/** Tested implementation; must never hold a secret. */
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
  platform?: { name: string; version?: string };
  /** `sha256:…` of the implementation, if Muster ran and measured it. */
  digest?: string;
  /** True if Muster has ended the target; no server answers at its address. */
  ended?: true;
  /** Kind of file that `digest` identifies: the image, or the executable. */
  digest_of?: 'image' | 'executable';
  executable?: string;
  digest_missing?: string;
  /** File that the tester claims to be the implementation; not verified by Muster. */
  artifact?: { name: string; digest: string };
}
