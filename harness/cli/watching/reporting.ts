/** Turns the results of a watch into reports and an exit code. */
import process from 'node:process';
import { quote } from '../../client/request-forms.ts';
import { defined } from '../../common/defined.ts';
import type { TrafficRedactor } from '../../common/redact.ts';
import { inert, printableLine } from '../../common/terminal.ts';
import { EXIT } from '../../common/usage.ts';
import { plural } from '../../reports/findings.ts';
import type { Reporter } from '../../reports/format.ts';
import type { Plan } from '../../runner/plan.ts';
import { History, type RuleOutcome } from '../../runner/rules.ts';
import { runSuite } from '../../runner/run.ts';
import type { CheckResult, Suite, TargetDescription, Watched } from '../../runner/types.ts';
import type { Concluded, PlainJudged, Seen } from '../../watch/judging.ts';

import { VERSION } from '../version.ts';

export interface Conclusion {
  suite: Suite<never>;
  plan: Plan<never>;
  /** Results of all rules; undefined if the judging thread failed. */
  concluded: Concluded | undefined;
  found: ReadonlyMap<string, PlainJudged>;
  troubles: readonly string[];
  target: TargetDescription;
  reporters: readonly Reporter[];
  redactor: TrafficRedactor;
  arguments: readonly string[];
  /** Start of the watch in milliseconds since 1970. */
  began: number;
  /** File with the recorded traffic; a finding names the command that judges this file again. */
  recording: string | undefined;
  settle(results: CheckResult[]): CheckResult[];
}

/** Words of the report for rules that stay undecided. */
const NARROWED = 'what no traffic showed';

export async function writeReports(about: Conclusion): Promise<number> {
  const { suite, plan, concluded, found, target, redactor, began, recording } = about;
  const bySecrets = new Set(suite.checks.filter((check) => check.bySecrets).map(({ id }) => id));
  const judged = concluded?.judged ?? Object.fromEntries(suite.checks.map(({ id }) => [id, lost(found.get(id))]));
  const report = await runSuite(suite, {
    plan: { ...plan, narrowedBy: [...plan.narrowedBy, NARROWED] },
    target,
    context: () => ({}) as never,
    redactor,
    seed: 0,
    version: VERSION,
    varied: false,
    history: History.withOutcomes(
      Object.fromEntries(Object.entries(judged).map(([id, each]) => [id, ruleOutcome(each)])),
    ),
    watched: { ...watchedOf(concluded?.seen, about.troubles), began, answers: concluded?.seen.answers },
    listeners: about.reporters,
    arguments: about.arguments,
    settle: about.settle,
    replayCommand: ({ id }) =>
      recording === undefined || bySecrets.has(id)
        ? undefined
        : `muster watch ${suite.api} --replay ${quote(recording)} --only ${id}`,
  });
  return report.exit_code;
}

const NO_JUDGE = 'what judges the traffic has ended';
const lost = (found: PlainJudged | undefined): PlainJudged => found ?? { sightings: 0, fault: NO_JUDGE };

function ruleOutcome({ sightings, broken, fault }: PlainJudged): RuleOutcome {
  return {
    sightings,
    ...(broken !== undefined && {
      broken: {
        finding: broken.finding,
        seen: broken.seen.map(({ check, asked, text }) => ({ check, asked, text: () => text })),
      },
    }),
    ...defined({ fault }),
  };
}

function watchedOf(seen: Seen | undefined, troubles: readonly string[]): Watched {
  const { connections = 0, exchanges = 0, events = 0 } = seen ?? {};
  return { connections, exchanges, events, gaps: [...(seen === undefined ? [] : gapsIn(seen)), ...troubles] };
}

export function gapsIn({ lost: gone, unread }: Pick<Seen, 'lost' | 'unread'>): string[] {
  const counted = (reasons: Readonly<Record<string, number>>, noun: string): string[] =>
    Object.entries(reasons).map(([why, count]) => `${plural(count, noun)}: ${why}`);
  return [...counted(gone, 'connection'), ...counted(unread, 'body')];
}

export function writeToStderr(text: string, stderr: Pick<NodeJS.WriteStream, 'write'> = process.stderr): void {
  try {
    stderr.write(inert(`muster: ${printableLine(text)}\n`));
  } catch {
    // Ignores a failed output, because the watch must go on and the report has the same text.
  }
}

interface OutageListener {
  announce(text: string): void;
  trouble(text: string): void;
  changed(why: string | null): void;
}

/** Maximum number of messages about a server that fails and returns repeatedly. */
const MOST_TOLD = 40;

export function outageReporter({ announce, trouble, changed }: OutageListener) {
  let isAway = false;
  let told = 0;
  let hasFailed = false;
  const turn = (away: boolean, why: string | null, text: string): void => {
    if (isAway === away) return;
    isAway = away;
    changed(why);
    told += 1;
    if (told <= MOST_TOLD) announce(text);
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

/** Returns `EXIT.hungUp` if SIGHUP ended a watch without a finding, otherwise `code`. */
export const exitCodeAfter = (code: number, signal: string | undefined): number =>
  signal === 'SIGHUP' && (code === EXIT.conformant || code === EXIT.incomplete) ? EXIT.hungUp : code;
