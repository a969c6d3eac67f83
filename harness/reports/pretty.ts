/** Report for a terminal; the most important part comes last, next to the prompt. */

import { defined } from '../common/defined.ts';
import {
  cutTo,
  hanging,
  LiveArea,
  type Output,
  type Paint,
  painter,
  printable,
  printableLine,
  printableValue,
  spinner,
  width,
  withoutCiCommands,
  wrap,
} from '../common/terminal.ts';
import { readableDuration } from '../common/units.ts';
import { summaryOf } from '../runner/results.ts';
import type { CheckResult, Outcome, Report, TargetDescription } from '../runner/types.ts';
import {
  blockedOtherwise,
  byReason,
  bySection,
  COLOURS,
  checksIn,
  counts,
  differencesIn,
  findingGroups,
  howOften,
  lines,
  NOT_AS_DECLARED,
  OUTCOME_WORDS,
  plural,
  SYMBOLS,
  sawInWords,
  sentence,
  tally,
  worst,
} from './findings.ts';
import { type LiveFormat, type Reporter, type ReporterOptions, writeReport } from './format.ts';
import { closing, findingLines, findings, idList, type PrettyOptions, paragraphs } from './pretty-findings.ts';
import { coverageLine, headlineOf, toneOf } from './verdict.ts';

export class Progress {
  readonly #output: Output;
  readonly #area: LiveArea;
  readonly #paint: Paint;
  readonly #running = new Map<string, number>();
  #total = 0;
  #waiting = 'waiting for';
  readonly #ended: Outcome[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(output: Output, paint: Paint) {
    this.#output = output;
    this.#area = new LiveArea(output);
    this.#paint = paint;
  }

  start(total: number): void {
    this.#total = total;
    const { live } = this.#area;
    const pauseMs = live ? 100 : 15_000;
    let drawings = 0;
    this.#timer = setInterval(() => {
      drawings += 1;
      if (live) this.#area.draw([`${this.#paint('cyan', spinner(drawings))} ${this.line()}`]);
      else this.#area.line(`… ${this.line(160)}`);
    }, pauseMs).unref();
  }

  begin(id: string): void {
    this.#running.set(id, performance.now());
  }

  end({ id, outcome }: CheckResult): void {
    this.#running.delete(id);
    this.#ended.push(outcome);
  }

  again(id: string): void {
    this.#running.clear();
    this.#waiting = 'trying again alone';
    this.begin(id);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#area.clear();
  }

  line(columns = this.#output.columns ?? 80): string {
    const counted = (['fail', 'blocked'] as const).map((outcome) => {
      const count = this.#ended.filter((ended) => ended === outcome).length;
      return count > 0 && `${count} ${OUTCOME_WORDS[outcome]}`;
    });
    let text = lines(`${this.#ended.length} of ${this.#total}`, ...counted).join(' · ');
    for (const [index, [id, since]] of [...this.#running].entries()) {
      const seconds = Math.floor((performance.now() - since) / 1000);
      const next = `${index === 0 ? ` · ${this.#waiting} ` : ', '}${id} (${seconds} s)`;
      if (width(text) + width(next) > columns - 8) return `${text}${index === 0 ? '' : ', …'}`;
      text += next;
    }
    return text;
  }
}

const WIDEST = 110;

const NOTABLE: ReadonlySet<string> = new Set(['fail', 'blocked', 'fixed', 'warn', 'undecided']);

export const prettyFormat: LiveFormat = {
  name: 'pretty',
  reporter(options, file) {
    if (file === undefined) return prettyReporter(options, options.stdout);
    let collected = '';
    const reporter = prettyReporter({ ...options, env: { NO_COLOR: '1' } }, { write: (part) => (collected += part) });
    return {
      ...reporter,
      async onEnd(report) {
        await reporter.onEnd?.(report);
        writeReport(file, collected);
      },
    };
  },
};

export function prettyReporter(
  { env, verbose = false }: Pick<ReporterOptions, 'env' | 'verbose'>,
  output: Output,
): Reporter {
  const paint = painter(output, env);
  const progress = new Progress(output, paint);
  let begun = false;
  return {
    onStart({ checks, suite, requirements, target, seed, repeat, watched }) {
      begun = true;
      const planned = checks.filter((planned) => planned.skip === undefined).length;
      const times = repeat > 1 ? `, ${repeat} times` : '';
      const about = [
        ...(watched ? [] : [`seed ${seed}`]),
        `requirements of ${requirements}`,
        `${planned} of ${checks.length} checks${times}`,
      ];
      output.write(head(`${watched ? 'watch' : 'check'} ${suite.api}`, target, about, paint));
      progress.start(checks.length + (repeat - 1) * planned);
    },
    onCheckStart: (check) => progress.begin(check.id),
    onCheckEnd: (result) => progress.end(result),
    onTryAgain: (check) => progress.again(check.id),
    onEnd(report) {
      progress.stop();
      const about = [`seed ${report.seed}`, `requirements of ${report.requirements_version}`, report.started_at];
      const what = `${report.watched === undefined ? 'check' : 'watch'} ${report.api}`;
      const first = begun ? '' : head(what, report.target, about, paint);
      const columns = Math.max(60, Math.min(output.columns ?? WIDEST, WIDEST));
      output.write(withoutCiCommands(first + prettyText(report, { verbose, paint, columns })));
    },
  };
}

function head(what: string, target: TargetDescription, about: readonly string[], paint: Paint): string {
  const line = [`control ${shown(target.control)}`, target.capabilities.join(' ') || 'no capabilities', ...about];
  const told = printableLine(line.join(' · '));
  return `${paint('bold', what)}  ${shown(target.address)}\n${paint('dim', told)}\n\n`;
}

export function prettyText({ checks, unreachable, ...given }: Report, options: PrettyOptions): string {
  const report: Report = {
    ...printableValue(given, printableLine),
    ...defined({ unreachable: unreachable && printable(unreachable) }),
    checks: checks.map(printableResult),
  };
  const blocks = report.unreachable === undefined ? decidedBlocks(report, options) : unreachableBlocks(report, options);
  return paragraphs([...blocks, conclusion(report, options)]);
}

const LINES = ['requirement', 'clause', 'expected', 'actual', 'reason', 'script'] as const;

/** Keeps exchanges and counterexamples unescaped, because their renderers escape more than control characters. */
const printableResult = ({ exchanges, counterexample, ...result }: CheckResult): CheckResult => ({
  ...printableValue(result, printableLine),
  ...Object.fromEntries(LINES.flatMap((name) => (result[name] === undefined ? [] : [[name, printable(result[name])]]))),
  ...defined({ exchanges, counterexample }),
});

export function findingText(finding: CheckResult, options: PrettyOptions): string {
  const lead = printableResult(finding);
  return withoutCiCommands(`${findingLines({ lead, consequences: [], blocked: [] }, options, true).join('\n')}\n\n`);
}

function decidedBlocks(report: Report, options: PrettyOptions): string[][] {
  const { checks } = report;
  const explained = ['not_applicable', 'undecided', 'known', 'flaky', 'fixed'] as const;
  return [
    sections(report, options),
    rates(report, options),
    observations(checks, options),
    ...explained.map((outcome) => reasons(checks, outcome, options)),
    reasons(blockedOtherwise(checks), 'blocked', options),
    declared(report, options),
    watched(report, options),
    findings(report, 'warn', options),
    findings(report, 'fail', options),
  ];
}

function watched({ watched: seen }: Report, { paint, columns }: PrettyOptions): string[] {
  if (seen === undefined) return [];
  const { connections, exchanges, events, gaps } = seen;
  // Omits an unknown number of connections, because a HAR need not name connections.
  const known = connections > 0 || exchanges === 0 ? [plural(connections, 'connection')] : [];
  const much = [...known, plural(exchanges, 'exchange'), plural(events, 'event')].join(', ');
  return [
    `${paint('bold', 'Watched')}  ${much}`,
    ...gaps.flatMap((gap) => hanging('not judged', wrap(gap, Math.max(30, columns - 14)), 2, 12)),
  ];
}

/** Commands stay unwrapped, so that a user can copy them. */
function unreachableBlocks(report: Report, options: PrettyOptions): string[][] {
  const [why = '', ...hints] = printable(report.unreachable ?? '').split(/ (?=Try: )/);
  return [
    [
      options.paint(['bold', 'red'], 'Not reached'),
      ...wrap(why, options.columns - 2).map((line) => `  ${line}`),
      ...hints.map((hint) => `  ${hint}`),
    ],
    reasons(report.checks, 'fixed', options),
    findings(report, 'fail', options),
  ];
}

function sections(report: Report, { paint, verbose }: PrettyOptions): string[] {
  const listedBelow = new Set(
    findingGroups(report.checks).flatMap(({ consequences, blocked }) =>
      [...consequences, ...blocked].map(({ id }) => id),
    ),
  );
  return bySection(report.checks).flatMap(({ section, title, checks }) => {
    const state = worst(checks);
    const shown =
      verbose === true ? checks : checks.filter(({ id, outcome }) => NOTABLE.has(outcome) && !listedBelow.has(id));
    return [
      `${paint(COLOURS[state], SYMBOLS[state])} ${section.padEnd(4)} ${title.padEnd(34)} ` +
        `${paint('dim', counts(summaryOf(checks)))}`,
      ...shown.map((result) => {
        const { id, outcome, duration_ms: took, allowed_for: allowed } = result;
        const more = lines(
          allowed !== undefined && `allows for ${allowed.join(', ')}`,
          took >= 1000 && readableDuration(took),
          howOften(result),
          verbose === true && sawInWords(result),
        ).join(' · ');
        const after = more === '' ? '' : ` ${paint('dim', more)}`;
        return `       ${paint(COLOURS[outcome], SYMBOLS[outcome])} ${id}${after}`;
      }),
    ];
  });
}

function rates({ repeat, checks }: Report, { paint }: PrettyOptions): string[] {
  if (repeat === undefined) return [];
  const rated = checks.flatMap(({ id, outcome, rate }) => (rate === undefined ? [] : [{ id, outcome, ...rate }]));
  const failed = rated.filter((one) => one.failed > 0).toSorted((a, b) => a.failed / a.times - b.failed / b.times);
  const never = rated.length - failed.length;
  return lines(
    paint('bold', `Run ${repeat} times each`),
    never > 0 && `  ${plural(never, 'check')} failed in none`,
    failed.map(({ id, outcome, ...one }) => `  ${paint(COLOURS[outcome], `${one.failed} of ${one.times}`)}  ${id}`),
  );
}

function observations(checks: readonly CheckResult[], { paint, columns }: PrettyOptions): string[] {
  const noted = checks.filter((check) => (check.observations?.length ?? 0) > 0 && check.outcome !== 'warn');
  if (noted.length === 0) return [];
  return [
    paint('bold', 'Observed, where the specification is silent'),
    ...noted.flatMap(({ id, observations = [] }) =>
      observations.slice(0, 2).flatMap((text, index) => {
        const shown = cutTo(printable(text), Math.max(30, columns - 40));
        return hanging(paint('dim', index === 0 ? id : ''), [shown], 2, 38);
      }),
    ),
  ];
}

function reasons(
  checks: readonly CheckResult[],
  outcome: Outcome,
  { paint, columns, verbose }: PrettyOptions,
): string[] {
  const groups = byReason(checks, outcome);
  if (groups.length === 0) return [];
  const shown = outcome === 'not_applicable' && verbose !== true ? groups.slice(0, 5) : groups;
  const hidden = groups.slice(shown.length);
  const others = `  and ${checksIn(hidden)} for ${plural(hidden.length, 'other reason')} (--verbose lists them)`;
  return lines(
    `${paint(['bold', COLOURS[outcome]], sentence(OUTCOME_WORDS[outcome]))} ${paint('dim', String(checksIn(groups)))}`,
    shown.flatMap(([reason, ids]) => {
      const first = checks.find(({ id, stderr }) => stderr !== undefined && ids.includes(id));
      const about = lines(idList(ids), first && printable(`it wrote, in ${first.id}:\n${first.stderr}`));
      return [
        ...wrap(printable(reason), columns - 4).map((line) => `  ${line}`),
        ...wrap(about.join('\n'), columns - 6).map((line) => paint('dim', `    ${line}`)),
      ];
    }),
    hidden.length > 0 && paint('dim', others),
  );
}

function declared(report: Report, { paint, columns }: PrettyOptions): string[] {
  const found = differencesIn(report);
  if (found.length === 0) return [];
  const shown = wrap(found.join('\n'), columns - 2).map((line) => `  ${line}`);
  return [`${paint(['bold', 'red'], NOT_AS_DECLARED)} ${paint('dim', String(found.length))}`, ...shown];
}

function conclusion(report: Report, options: PrettyOptions): string[] {
  const { paint, columns } = options;
  const headline = headlineOf(report);
  const reached = report.unreachable === undefined || report.summary.fail > 0;
  const how = coverageLine(report);
  const word = paint(['bold', COLOURS[toneOf(report, headline)]], headline.word);
  const took = paint('dim', readableDuration(report.duration_ms));
  const said = lines(`${word}${reached ? `  ${tally(report)}` : ''}  ${took}`, how !== undefined && wrap(how, columns));
  return closing(said, report.exit_code, headline.meaning, options);
}

const shown = (text: string): string => cutTo(printable(text), 200);
