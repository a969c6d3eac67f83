import process from 'node:process';
import { Recorder } from '../../client/recorder.ts';
import { defined } from '../../common/defined.ts';
import { telling } from '../../common/excerpt.ts';
import { painter, printableLine, withoutCiCommands } from '../../common/terminal.ts';
import type { TrafficRedactor } from '../../common/traffic-redactor.ts';
import { EXIT } from '../../common/usage.ts';
import { plural } from '../../reports/findings.ts';
import type { Reporter } from '../../reports/format.ts';
import { findingText } from '../../reports/pretty.ts';
import { groupByCause } from '../../runner/causes.ts';
import type { Plan, Planned } from '../../runner/plan.ts';
import { resultOf } from '../../runner/results.ts';
import { History, type RuleOutcome } from '../../runner/rules.ts';
import { runSuite } from '../../runner/run.ts';
import type { CheckResult, Suite, TargetDescription } from '../../runner/types.ts';
import { shortText } from '../../runner/violation.ts';
import type { Concluded, PlainJudged, Seen } from '../../watch/judging.ts';
import { columns } from '../options.ts';
import { VERSION } from '../version.ts';

export interface Conclusion {
  suite: Suite<never>;
  plan: Plan<never>;
  /** Undefined if the judging thread failed. */
  concluded: Concluded | undefined;
  found: ReadonlyMap<string, PlainJudged>;
  troubles: readonly string[];
  target: TargetDescription;
  reporters: readonly Reporter[];
  redactor: TrafficRedactor;
  /** Milliseconds since 1970. */
  began: number;
  /** Command that judges the recorded traffic again. */
  replay: string | undefined;
  settle(results: CheckResult[]): CheckResult[];
}

export async function writeReports(about: Conclusion): Promise<number> {
  const { suite, plan, concluded, found, target, redactor, began, replay } = about;
  const bySecrets = new Set(suite.checks.filter((check) => check.bySecrets).map(({ id }) => id));
  const lost: PlainJudged = { sightings: 0, fault: 'what judges the traffic has ended' };
  const judged = concluded?.judged ?? Object.fromEntries(suite.checks.map(({ id }) => [id, found.get(id) ?? lost]));
  const { connections = 0, exchanges = 0, events = 0, answers } = concluded?.seen ?? {};
  const gaps = [...(concluded === undefined ? [] : gapsIn(concluded.seen)), ...about.troubles];
  const outcomes = Object.entries(judged).map(([id, { sightings, broken, fault }]): [string, RuleOutcome] => {
    const seen = broken?.seen.map(({ check, asked, text }) => ({ check, asked, text: () => text })) ?? [];
    return [id, { sightings, ...defined({ broken: broken && { finding: broken.finding, seen }, fault }) }];
  });
  const unwritten: string[] = [];
  const report = await runSuite(suite, {
    plan: { ...plan, narrowedBy: [...plan.narrowedBy, 'what no traffic showed'] },
    target,
    context: () => ({}) as never,
    redactor,
    seed: 0,
    version: VERSION,
    varied: false,
    history: History.withOutcomes(Object.fromEntries(outcomes)),
    watched: { connections, exchanges, events, gaps, began, answers },
    listeners: about.reporters,
    onUnwritten: (reason) => void unwritten.push(reason),
    settle: about.settle,
    replayCommand: ({ id }) => (replay === undefined || bySecrets.has(id) ? undefined : `${replay} --only ${id}`),
  });
  for (const reason of unwritten) writeToStderr(reason);
  return unwritten.length > 0 && report.exit_code !== EXIT.nonconformant ? EXIT.harness : report.exit_code;
}

export function gapsIn({ lost: gone, unread }: Pick<Seen, 'lost' | 'unread'>): string[] {
  const counted = (reasons: Readonly<Record<string, number>>, noun: string): string[] =>
    Object.entries(reasons).map(([why, count]) => `${plural(count, noun)}: ${why}`);
  return [...counted(gone, 'connection'), ...counted(unread, 'body')];
}

export function writeToStderr(text: string, stderr: Pick<NodeJS.WriteStream, 'write'> = process.stderr): void {
  try {
    stderr.write(withoutCiCommands(`muster: ${printableLine(text)}\n`));
  } catch {
    // Ignores a failed write, because the watch must go on without messages.
  }
}

type OutageListener = { announce(text: string): void; trouble(text: string): void; changed(why: string | null): void };

export function outageReporter({ announce, trouble, changed }: OutageListener) {
  let isAway = false;
  let told = 0;
  let hasFailed = false;
  const turn = (away: boolean, why: string | null, text: string): void => {
    if (isAway === away) return;
    isAway = away;
    changed(why);
    told += 1;
    // Limits the messages about outages, because a server may fail and return repeatedly.
    if (told <= 40) announce(text);
  };
  return {
    refused: (why: string) =>
      turn(true, why, `the server cannot be reached: ${why}; connections of clients are closed until it is back`),
    reached: () => turn(false, null, 'the server is back'),
    /** Reports only the first failure, because a client that rejects the certificate fails at each attempt. */
    handshakeFailed(why: string): void {
      if (!hasFailed) trouble(`the TLS handshake of a client failed: ${why}; further ones are not reported`);
      hasFailed = true;
    },
  };
}

export const exitCodeAfter = (code: number, signal: string | undefined): number =>
  signal === 'SIGHUP' && (code === EXIT.conformant || code === EXIT.incomplete) ? EXIT.hungUp : code;

interface FindingReporterOptions {
  suite: Suite<never>;
  checks: readonly Planned<never>[];
  verbose: boolean;
  stderr: NodeJS.WriteStream;
  env: NodeJS.ProcessEnv;
  excuses(result: CheckResult): boolean;
}

/** Finding that no simpler finding explains. */
export interface LeadingFinding {
  result: CheckResult;
  /** Milliseconds since 1970. */
  at: number;
  /** Number of times that traffic obeyed or broke the rule so far. */
  looked: number;
  /** Ids of findings that this finding may explain. */
  followers: string[];
}

/** Prints only the first of several findings with the same cause; the report lists all. */
export class FindingReporter {
  readonly #options: FindingReporterOptions;
  readonly #found: CheckResult[] = [];
  readonly #about = new Map<string, Pick<LeadingFinding, 'at' | 'looked'>>();

  constructor(options: FindingReporterOptions) {
    this.#options = options;
  }

  get failures(): number {
    const open = this.#found.filter((result) => !this.#options.excuses(result));
    return this.#leads(open).filter(({ outcome }) => outcome === 'fail').length;
  }

  get leads(): LeadingFinding[] {
    const all = groupByCause(this.#found, this.#options.suite.checks);
    return this.#leads().map((result) => ({
      result,
      ...(this.#about.get(result.id) ?? { at: 0, looked: 0 }),
      followers: all.filter((each) => each.consequence_of === result.id).map(({ id }) => id),
    }));
  }

  report(id: string, judged: PlainJudged): void {
    const planned = this.#options.checks.find(({ check }) => check.id === id);
    const result = planned === undefined ? undefined : resultIn(planned.check, judged);
    if (result === undefined) return;
    this.#found.push(result);
    this.#about.set(id, { at: Date.now(), looked: judged.sightings });
    if (!this.#leads().some((lead) => lead.id === id)) return;
    const { stderr, env, verbose } = this.#options;
    const text = findingText(result, { paint: painter(stderr, env), columns: columns(env), verbose });
    try {
      stderr.write(text);
    } catch {
      // The relay must go on, and the report has the finding, too.
    }
  }

  #leads(found = this.#found): CheckResult[] {
    return groupByCause(found, this.#options.suite.checks).filter((each) => each.consequence_of === undefined);
  }
}

function resultIn(check: Planned<never>['check'], { broken }: PlainJudged): CheckResult | undefined {
  const { level } = check.requirement;
  if (broken === undefined || level === 'INFO') return undefined;
  const { expected, actual, counterexample } = broken.finding;
  const recorder = new Recorder();
  for (const { asked, text } of broken.seen) recorder.add({ ...asked, request_headers: {}, response_body: text });
  const about = { expected, actual: shortText(actual) };
  return resultOf(check, {
    outcome: level === 'MUST' ? 'fail' : 'warn',
    duration_ms: 0,
    ...about,
    ...(counterexample !== undefined && { counterexample }),
    exchanges: recorder.evidence(telling(about), 8),
  });
}
