/** Prints the findings of a watch at once, but only the first of several findings with the same cause. */
import { Recorder } from '../../client/recorder.ts';
import { telling } from '../../common/excerpt.ts';
import { painter } from '../../common/terminal.ts';
import { findingText } from '../../reports/pretty.ts';
import { groupByCause } from '../../runner/causes.ts';
import type { Planned } from '../../runner/plan.ts';
import { resultOf } from '../../runner/results.ts';
import type { CheckResult, Suite } from '../../runner/types.ts';
import { shortText } from '../../runner/violation.ts';
import type { PlainJudged } from '../../watch/judging.ts';
import { columns } from '../options.ts';

const EXCHANGES = 8;

export interface FindingReporterOptions {
  suite: Suite<never>;
  checks: readonly Planned<never>[];
  verbose: boolean;
  stderr: NodeJS.WriteStream;
  env: NodeJS.ProcessEnv;
}

/** Finding that no earlier finding explains, with figures for the page. */
export interface LeadingFinding {
  result: CheckResult;
  /** Time of the finding in milliseconds since 1970. */
  at: number;
  /** Number of times that traffic obeyed or broke the rule so far. */
  looked: number;
  /** Ids of findings that this finding may explain. */
  followers: string[];
}

export class FindingReporter {
  readonly #options: FindingReporterOptions;
  readonly #found: CheckResult[] = [];
  readonly #about = new Map<string, Pick<LeadingFinding, 'at' | 'looked'>>();

  constructor(options: FindingReporterOptions) {
    this.#options = options;
  }

  get failures(): number {
    return this.#leads().filter(({ outcome }) => outcome === 'fail').length;
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
    // Skips a finding that an earlier finding explains; the report lists all findings.
    if (!this.#leads().some((lead) => lead.id === id)) return;
    const { stderr, env, verbose } = this.#options;
    const text = findingText(result, { paint: painter(stderr, env), columns: columns(env), verbose });
    try {
      stderr.write(text);
    } catch {
      // Ignores a failed output, because the relay must go on and the report has the finding, too.
    }
  }

  #leads(): CheckResult[] {
    return groupByCause(this.#found, this.#options.suite.checks).filter((each) => each.consequence_of === undefined);
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
    exchanges: recorder.evidence(telling(about), EXCHANGES),
  });
}
