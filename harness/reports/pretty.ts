/** The report for a person at a terminal. What matters most comes last, nearest to the prompt. */

import { randomUUID } from 'node:crypto';
import { readableDuration } from '../common/durations.ts';
import { cutTo, hanging, type Output, type Paint, painter, printable, wrap } from '../common/terminal.ts';
import { writeWhole } from '../common/user-files.ts';
import { sectionTitle } from '../contract/sections.ts';
import { summarise } from '../runner/summary.ts';
import type { CheckResult, Report } from '../runner/types.ts';
import { bodyLines, counterexample, headline, tryLine } from './finding-text.ts';
import type { LiveFormat, Reporter, ReporterOptions } from './format.ts';
import { byReason, bySection, counts, OUTCOME_WORDS, SYMBOLS, verdict, worst } from './groups.ts';
import { Progress } from './progress.ts';

const WIDEST = 110;
/** Columns of the label before each field of a finding. */
const LABEL = 11;
/** Exchanges shown of one finding, the last ones. */
const EXCHANGES = 3;
const NAMED = 6;
/** Findings shown in full; the others take three lines. */
const WHOLE = 5;
/** Observations shown of one check. The JSON and HTML reports have all. */
const NOTED = 2;

const COLOURS = {
  pass: 'green',
  fail: 'red',
  warn: 'yellow',
  not_applicable: 'dim',
  blocked: 'red',
  known: 'cyan',
  fixed: 'red',
} as const;

/** Outcomes of checks that are listed under their section without `--verbose` too. */
const NOTABLE: ReadonlySet<string> = new Set(['fail', 'blocked', 'fixed', 'warn']);

/** With a file, everything is collected for it, without colours. */
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
        writeWhole(file, collected);
      },
    };
  },
};

/** Shows progress while the run goes on, and the report at its end. */
export function prettyReporter(
  { env, verbose = false }: Pick<ReporterOptions, 'env' | 'verbose'>,
  output: Output,
): Reporter {
  const paint = painter(output, env);
  const progress = new Progress(output, paint);
  return {
    onStart({ checks, suite, requirements, target, seed }) {
      const planned = checks.filter((planned) => planned.skip === undefined).length;
      const line = `control ${printable(target.control)} · ${target.capabilities.join(' ') || 'no capabilities'} · seed ${seed} · requirements of ${requirements} · ${planned} of ${checks.length} checks`;
      output.write(`${paint('bold', `check ${suite.api}`)}  ${printable(target.address)}\n${paint('dim', line)}\n\n`);
      progress.start(checks.length);
    },
    onCheckStart: (check) => progress.begin(check.id),
    onCheckEnd: (result) => progress.end(result),
    onEnd(report) {
      progress.stop();
      const text = prettyText(report, { verbose, paint, columns: columnsOf(output) });
      output.write(env['GITHUB_ACTIONS'] === 'true' ? inert(text) : text);
    },
  };
}

/** How the report is written: with which colours, how wide, and whether in full. */
export interface PrettyOptions extends Pick<ReporterOptions, 'verbose'> {
  paint: Paint;
  columns: number;
}

/** The finished report as text. */
export function prettyText(report: Report, options: PrettyOptions): string {
  const { checks } = report;
  const blocks = [
    sections(report, options),
    observations(checks, options),
    reasons(checks, 'not_applicable', options),
    reasons(checks, 'known', options),
    reasons(checks, 'fixed', options),
    reasons(checks, 'blocked', options),
    findings(report, 'warn', options),
    findings(report, 'fail', options),
    closing(report, options),
  ];
  return blocks
    .filter((block) => block.length > 0)
    .map((block) => `${block.join('\n')}\n`)
    .join('\n');
}

function sections(report: Report, { paint, verbose }: PrettyOptions): string[] {
  return bySection(report.checks).flatMap(({ section, title, checks }) => {
    const state = worst(checks);
    const shown = verbose === true ? checks : checks.filter(({ outcome }) => NOTABLE.has(outcome));
    return [
      `${paint(COLOURS[state], SYMBOLS[state])} ${section.padEnd(4)} ${title.padEnd(34)} ${paint('dim', counts(summarise(checks)))}`,
      ...shown.map((check) =>
        [
          `       ${paint(COLOURS[check.outcome], SYMBOLS[check.outcome])} ${check.id}`,
          ...(check.duration_ms >= 1000 ? [paint('dim', readableDuration(check.duration_ms))] : []),
        ].join(' '),
      ),
    ];
  });
}

function observations(checks: readonly CheckResult[], { paint, columns }: PrettyOptions): string[] {
  const noted = checks.filter((check) => (check.observations?.length ?? 0) > 0 && check.outcome !== 'warn');
  if (noted.length === 0) return [];
  return [
    paint('bold', 'Observed, where the specification is silent'),
    ...noted.flatMap((check) =>
      (check.observations ?? [])
        .slice(0, NOTED)
        .flatMap((text, index) =>
          hanging(
            paint('dim', index === 0 ? check.id : ''),
            [cutTo(printable(text), Math.max(30, columns - 40))],
            2,
            38,
          ),
        ),
    ),
  ];
}

function reasons(
  checks: readonly CheckResult[],
  outcome: 'not_applicable' | 'known' | 'fixed' | 'blocked',
  { paint, columns }: PrettyOptions,
): string[] {
  const groups = byReason(checks, outcome);
  if (groups.length === 0) return [];
  const total = groups.reduce((sum, [, ids]) => sum + ids.length, 0);
  const heading = OUTCOME_WORDS[outcome];
  return [
    `${paint(['bold', COLOURS[outcome]], `${heading.charAt(0).toUpperCase()}${heading.slice(1)}`)} ${paint('dim', String(total))}`,
    ...groups.flatMap(([reason, ids]) => [
      ...wrap(printable(reason), columns - 4).map((line) => `  ${line}`),
      ...wrap(named(ids), columns - 6).map((line) => paint('dim', `    ${line}`)),
    ]),
  ];
}

const named = (ids: readonly string[]): string =>
  ids.slice(0, NAMED).join(' ') + (ids.length > NAMED ? ` and ${ids.length - NAMED} more` : '');

/** Kinds of targets that Muster starts for a run and stops after it. */
const STARTED: ReadonlySet<string> = new Set(['command', 'image']);
const ENDED =
  "What was started for this run has ended: 'try' needs it to run at that address, 'again' starts it by itself.";

function findings(report: Report, outcome: 'warn' | 'fail', options: PrettyOptions): string[] {
  const found = report.checks.filter((check) => check.outcome === outcome);
  if (found.length === 0) return [];
  const { paint } = options;
  const heading = outcome === 'fail' ? 'Failed: a MUST does not hold' : 'Warned: a SHOULD does not hold';
  return [
    `${paint(['bold', COLOURS[outcome]], heading)} ${paint('dim', String(found.length))}`,
    ...found.flatMap((result, index) => [
      '',
      ...(index < WHOLE || options.verbose === true ? findingLines(result, options) : briefLines(result, options)),
    ]),
    ...(found.length > WHOLE && options.verbose !== true
      ? ['', paint('dim', `  The first ${WHOLE} are shown in full; for the others add --report html=FILE.`)]
      : []),
    ...(STARTED.has(report.target.kind) && found.some(({ curl }) => curl !== undefined)
      ? ['', ...wrap(ENDED, options.columns - 2).map((line) => paint('dim', `  ${line}`))]
      : []),
  ];
}

function closing(report: Report, { paint, columns }: PrettyOptions): string[] {
  const { word, good, meaning } = verdict(report);
  return [
    paint('dim', '─'.repeat(Math.min(columns, 72))),
    `${paint(['bold', good ? 'green' : 'red'], word)}  ${counts(report.summary)}  ${paint('dim', readableDuration(report.duration_ms))}`,
    ...wrap(`exit ${report.exit_code}: ${meaning}`, columns).map((line) => paint('dim', line)),
  ];
}

/** A workflow's runner obeys lines that start with `::`; text of a target must not command it. */
function inert(text: string): string {
  const token = randomUUID();
  return `::stop-commands::${token}\n${text}::${token}::\n`;
}

const columnsOf = (output: Output): number => Math.max(60, Math.min(output.columns ?? WIDEST, WIDEST));

/** A finding in full. */
function findingLines(result: CheckResult, { paint, columns }: PrettyOptions): string[] {
  const where = `${result.level} · section ${result.section} ${sectionTitle(result.section)} · ${readableDuration(result.duration_ms)}`;
  const room = Math.max(30, columns - 2 - LABEL);
  const field = (label: string, text: string | undefined, format?: Parameters<Paint>[0]): string[] =>
    text === undefined
      ? []
      : hanging(
          paint('dim', label),
          wrap(printable(text), room).map((line) => (format === undefined ? line : paint(format, line))),
          4,
          LABEL,
        );
  const exchanges = (result.exchanges ?? []).slice(-EXCHANGES);
  const line = tryLine(result);
  const dropped = (result.exchanges?.length ?? 0) - exchanges.length;
  return [
    `  ${mark(result, paint)} ${paint('bold', result.id)}  ${paint('dim', where)}`,
    ...wrap(printable(result.requirement), columns - 4).map((line) => `    ${line}`),
    ...field('expected', result.expected, 'green'),
    ...field('actual', result.actual, 'red'),
    ...field('smallest', counterexample(result)),
    ...field('reason', result.reason),
    // Commands stay on one line: a terminal may break them, a copy must not.
    ...(line === undefined ? [] : [`    ${label(paint, 'try')}${line}`]),
    ...exchanges.flatMap((exchange, index) => [
      `    ${label(paint, index === 0 ? (dropped > 0 ? `last ${EXCHANGES}` : 'exchange') : '')}${headline(exchange)}`,
      ...bodyLines(exchange, room).map((line) => paint('dim', `    ${' '.repeat(LABEL)}${line}`)),
    ]),
    ...again(result, paint),
  ];
}

/** A finding in three lines, for those that come after many others. */
function briefLines(result: CheckResult, { paint, columns }: PrettyOptions): string[] {
  return [
    `  ${mark(result, paint)} ${paint('bold', result.id)}  ${paint('dim', `${result.level} · section ${result.section}`)}`,
    ...(result.actual === undefined
      ? []
      : [`    ${label(paint, 'actual')}${paint('red', cutTo(printable(result.actual), columns - 4 - LABEL))}`]),
    ...again(result, paint),
  ];
}

const mark = ({ outcome }: CheckResult, paint: Paint): string => paint([COLOURS[outcome], 'bold'], SYMBOLS[outcome]);

const again = ({ replay_command: command }: CheckResult, paint: Paint): string[] =>
  command === undefined ? [] : [`    ${label(paint, 'again')}${command}`];

const label = (paint: Paint, text: string): string => paint('dim', text) + ' '.repeat(Math.max(1, LABEL - text.length));
