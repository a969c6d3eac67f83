import { join, relative } from 'node:path';
import process from 'node:process';
import { costLine, thousands } from '../../simulators/fleet/measure/costs.ts';
import type { Summary } from '../../simulators/fleet/measure/metrics.ts';
import { ROLLOUT_LEGS } from '../../simulators/fleet/report/plots.ts';
import { thresholdValue } from '../../simulators/fleet/report/report.ts';
import { compareFleets } from '../../simulators/fleet/result/compared.ts';
import {
  exitCode,
  type FleetResult,
  figuresCount,
  foundText,
  judgedText,
  measuredNothing,
  outcomeOf,
  reachOf,
  roundsOf,
  standingOf,
  timesOf,
} from '../../simulators/fleet/result/result.ts';
import { OutputError, ResultError, readResult } from '../../simulators/fleet/result/shards.ts';
import { classesIn, summaryOfClass } from '../../simulators/fleet/result/thresholds.ts';
import type { Verdict } from '../../simulators/fleet/result/verdict.ts';
import {
  hanging,
  type Paint,
  painter,
  printable,
  printableJson,
  printableLine,
  printableValue,
  wrap,
} from '../common/terminal.ts';
import { readableDuration } from '../common/units.ts';
import { EXIT, interruptedCode, UsageError } from '../common/usage.ts';

const NAME_COLUMNS = 28;
const CELL_COLUMNS = 11;
const TEXT_COLUMNS = 100;
const MOST_LISTED = 10;

const LEG_ENDS: Record<(typeof ROLLOUT_LEGS)[number], string> = {
  command: 'POST → sync begins',
  sync: '→ content is here',
  write: '→ files in place',
  event: '→ client read it',
  report: '→ platform knows',
};
const METRICS_SHOWN = ['ping.ms', 'http.ms', 'http.target.ms', 'sync.ms', 'reconnect.ms'];
const OPERATIONS = { 'list.ms': 'lists', 'read.ms': 'reads', 'expand.ms': 'expands', 'deploy.ms': 'deployments' };

const VERDICT_WORDS: Record<Verdict, [mark: string, format: 'green' | 'yellow' | 'red', words: string]> = {
  valid: ['✓', 'green', 'the generator kept up'],
  suspect: ['!', 'yellow', 'read the figures with care'],
  invalid: ['✗', 'red', 'the generator saturated: the figures are its own'],
};

type Ending = ReturnType<typeof exitCode> | 129 | 130 | 143;

const EXIT_WORDS: Record<Ending, string> = {
  0: '',
  1: 'an event stream was not whole, or an answer of the platform was wrong',
  2: 'the run is not complete, or a threshold was not measured',
  98: 'the generator saturated',
  99: 'a threshold was missed, or a condition ended the run',
  129: 'hung up',
  130: 'interrupted',
  143: 'terminated',
};

/**
 * Shows figures before files are written, so that a full disk hides no figure. Resolves with the exit code, which is
 * above 0 if a file could not be written.
 */
export async function showFleetResult(
  signal: AbortSignal,
  work: (onResult: (result: FleetResult) => void) => Promise<{ out: string }>,
): Promise<number> {
  const paint = painter(process.stdout, process.env);
  let code = EXIT.incomplete as Ending;
  const onResult = (result: FleetResult): void => {
    code = signal.aborted ? (interruptedCode(signal) as Ending) : exitCode(result);
    process.stdout.write(summaryText(result, paint));
  };
  try {
    const { out } = await work(onResult);
    process.stdout.write(endingText({ out, code }, paint));
  } catch (error) {
    if (!(error instanceof OutputError)) throw error;
    if (code === EXIT.conformant) code = EXIT.incomplete;
    process.stdout.write(endingText({ unwritten: error.message, code }, paint));
  }
  return code;
}

export function summaryText(given: FleetResult, paint: Paint): string {
  // Escapes control characters, because some texts quote the platform or a robot.
  const result = printableValue({ ...given, histograms: {}, series: [] });
  const shard = result.shard === null ? '' : ` · shard ${result.shard.index}/${result.shard.count}`;
  const { robots, seed } = result;
  const { runMs, preparingMs } = timesOf(result);
  const before = preparingMs < 1000 ? '' : `, after ${readableDuration(preparingMs)} for keys and processes`;
  const time = [...roundsOf(result), `${readableDuration(runMs)}${before}`].join(' · ');
  const labelled = (label: string, text: string): string => paint('dim', `${label.padEnd(NAME_COLUMNS)}${text}`);
  const { costs, answers } = result;
  const spent = [
    ...(costs === undefined ? [] : [labelled('processes', costLine(costs))]),
    ...(answers === undefined ? [] : [labelled('judged', judgedText(answers))]),
  ];
  const head = `${thousands(robots)} robots${shard} · seed ${seed} · ${time}`;
  return sectionsText([
    [`${paint('bold', result.scenario)} · ${head}`],
    [...figures(result, given, paint), ...spent],
    [...thresholds(result, paint), ...wrong(result, paint)],
    conclusion(result, paint),
  ]);
}

export function endingText(ending: { code: Ending } & ({ out: string } | { unwritten: string }), paint: Paint): string {
  const { code } = ending;
  const words =
    'unwritten' in ending && code === EXIT.incomplete ? 'the result is on the screen alone' : EXIT_WORDS[code];
  const where =
    'out' in ending
      ? `report: ${relative(process.cwd(), join(ending.out, 'report.html')) || 'report.html'}`
      : `${paint('red', '✗')} measured, and not written: ${printable(ending.unwritten)}`;
  return sectionsText([[where, ...(code === 0 ? [] : [paint('red', `exit ${code}: ${words}`)])]]);
}

const sectionsText = (sections: readonly (readonly string[])[]): string =>
  `\n${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.map((line) => `  ${line}\n`).join(''))
    .join('\n')}`;

function figures(result: FleetResult, whole: FleetResult, paint: Paint): string[] {
  const { metrics, counters, measured_seconds: seconds } = result;
  const row = (label: string, metric: Summary | undefined): string[] => {
    if (metric === undefined) return [];
    const percents = [metric.p50, metric.p90, metric.p95, metric.p99, metric.max];
    const cells = percents.map((ms) => readableDuration(ms).padStart(CELL_COLUMNS)).join('');
    return [`${label.padEnd(NAME_COLUMNS)}${thousands(metric.count).padStart(CELL_COLUMNS)}${cells}`];
  };
  const classes = classesIn(result);
  const byClass = (name: string): string[] =>
    classes.flatMap((own) => row(`  class ${own}`, summaryOfClass(whole, name, own)));
  const named = (name: string): string[] => row(name, metrics[name]);
  const rows = [
    ...named('rollout.ms'),
    ...ROLLOUT_LEGS.flatMap((leg) =>
      row(`  ${leg.padEnd(8)}${LEG_ENDS[leg]}`, metrics[`rollout.${leg}.ms`]).map((line) => paint('dim', line)),
    ),
    ...byClass('rollout.ms'),
    ...METRICS_SHOWN.flatMap((name) => [
      ...named(name),
      ...(name === 'http.ms'
        ? Object.entries(OPERATIONS).flatMap(([part, words]) => row(`  ${words}`, metrics[part]))
        : []),
      ...(['ping.ms', 'reconnect.ms'].includes(name) ? byClass(name) : []),
    ]),
    ...named('schedule.lateness.ms'),
    ...named('schedule.burst.ms'),
  ];
  if (rows.length === 0) return [];
  const columns = ['count', 'p50', 'p90', 'p95', 'p99', 'max'].map((name) => name.padStart(CELL_COLUMNS)).join('');
  const errors = Object.entries(counters).flatMap(([name, failed]) => {
    if (!name.endsWith('.errors') || failed === 0) return [];
    const attempts = counters[name.replace(/errors$/, 'attempts')];
    const among = attempts === undefined ? '' : ` of ${thousands(attempts)}`;
    return [paint('yellow', `${name.padEnd(NAME_COLUMNS)}${thousands(failed).padStart(CELL_COLUMNS)}${among}`)];
  });
  const requests = counters['http.attempts'] ?? 0;
  const aSecond = thousands(Number((requests / seconds).toPrecision(3)));
  const count = thousands(requests).padStart(CELL_COLUMNS);
  const pace = `${count} in ${readableDuration(seconds * 1000)}: ${aSecond} a second`;
  const asked = requests === 0 || seconds === 0 ? [] : [`${'requests'.padEnd(NAME_COLUMNS)}${pace}`];
  // Pings of offline devices are no errors, because a user may have switched off a device.
  const { 'ping.offline': offline = 0, 'ping.attempts': pings = 0 } = counters;
  const share = `${thousands(offline).padStart(CELL_COLUMNS)} of ${thousands(pings)}`;
  const told = offline === 0 ? [] : [paint('dim', `${'ping.offline'.padEnd(NAME_COLUMNS)}${share}`)];
  const head = (figuresCount(result) ? '' : 'they decide nothing').padEnd(NAME_COLUMNS);
  return [paint('dim', head + columns), ...rows, ...asked, ...told, ...errors];
}

const STANDING_FORMATS = { good: 'green', bad: 'red', open: 'dim' } as const;

function thresholds(result: FleetResult, paint: Paint): string[] {
  const columns = Math.max(NAME_COLUMNS + 2, ...result.thresholds.map(({ expr }) => expr.length));
  return result.thresholds.map(({ expr, value, ok, reason }) => {
    const { tone, words } = standingOf(result, { ok, value });
    const met = paint(STANDING_FORMATS[tone], words.padEnd(8));
    return `${met}  ${expr.padEnd(columns)}  ${value === null ? (reason ?? '') : thresholdValue(expr, value)}`;
  });
}

function wrong(result: FleetResult, paint: Paint): string[] {
  const streams = result.violations.map(
    ({ name, kind, message }) => `the stream of ${name} was not whole: ${kind}: ${message}`,
  );
  const { late = 0, lost = 0, attempts } = reachOf(result) ?? {};
  const of = attempts === undefined ? '' : `${thousands(late + lost)} of ${thousands(attempts)} `;
  const how = ` (${thousands(late)} arrived late, ${thousands(lost)} never)`;
  const others = result.missed.length <= MOST_LISTED ? '' : ' and others';
  const names = result.missed.slice(0, MOST_LISTED).join(', ');
  const missed = names === '' ? [] : [`${of}roll-outs missed${how}: ${names}${others}`];
  const shown = streams.slice(0, MOST_LISTED);
  const more = streams.length - shown.length;
  if (more > 0) shown.push(`and ${more} more, in the report`);
  const { findings = [] } = result.answers ?? {};
  const found = (wanted: string): string[] => findings.filter(({ level }) => level === wanted).map(foundText);
  const under = (mark: string) => (line: string) => hanging(mark, wrap(line, TEXT_COLUMNS), 0, 2);
  return [
    ...[...shown, ...missed, ...found('MUST')].flatMap(under(paint('red', '✗'))),
    ...found('SHOULD').flatMap(under(paint('yellow', '!'))),
  ];
}

function conclusion(result: FleetResult, paint: Paint): string[] {
  const outcome = outcomeOf(result);
  const [mark, format] = outcome === 'PASSED' ? (['✓', 'green'] as const) : (['✗', 'red'] as const);
  const isEmpty = measuredNothing(result);
  const nothing = isEmpty ? ` ${paint('dim', '(nothing was measured)')}` : '';
  const [sign, tone, words] = VERDICT_WORDS[result.verdict];
  const verdict = `load generator: ${result.verdict}`;
  const judged = `${paint(tone, sign)} ${paint(['bold', tone], verdict)} ${paint('dim', `(${words})`)}`;
  const partial = isEmpty ? [] : [paint('dim', `· ${verdict} (${words})`)];
  const listed = (bullet: string, texts: readonly string[]): string[] =>
    texts.flatMap((text) => hanging(bullet, wrap(text, TEXT_COLUMNS), 2, 2));
  return [
    `${paint(format, mark)} ${paint(['bold', format], `outcome: ${outcome}`)}${nothing}`,
    ...listed('-', result.incomplete_reasons),
    ...(result.complete ? [judged] : partial),
    ...listed('-', result.verdict_reasons),
    ...listed('·', result.notes).map((line) => paint('dim', line)),
  ];
}

export const isFleet = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'robots' in value && 'verdict' in value;

export function fleetIn(file: string): FleetResult {
  try {
    return readResult(file);
  } catch (error) {
    if (error instanceof ResultError) throw new UsageError(error.message);
    throw error;
  }
}

export type ComparedFleets = ReturnType<typeof comparedFleets>;

export function comparedFleets(files: readonly string[], isGate: boolean) {
  const [first, second] = files.slice(-2);
  if (first === undefined || second === undefined)
    throw new UsageError(`${first ?? 'compare'}: one result of a fleet; accepted: two, the earlier one first`);
  const comparison = compareFleets(fleetIn(first), fleetIn(second));
  const { missed, figures, reasons } = comparison;
  const isWorse = missed.length > 0 || figures.some(({ change }) => change === 'worse');
  const isGone = figures.some(({ change, name }) => change === 'gone' && !name.includes('{'));
  const rest = isGone ? EXIT.incomplete : EXIT.conformant;
  const gated = reasons.length > 0 ? EXIT.incomplete : isWorse ? EXIT.nonconformant : rest;
  return { ...comparison, files: [first, second] as const, code: isGate ? gated : EXIT.conformant };
}

const FIGURE_COLUMNS = 44;
const MARKS = {
  worse: ['✗ worse', 'red'],
  better: ['✓ better', 'green'],
  same: ['', 'dim'],
  gone: ['not measured any more', 'yellow'],
  new: ['not measured before', 'dim'],
} as const;

export function fleetsText(compared: ComparedFleets, paint: Paint): string {
  const { files, figures, missed, settings, doubts, reasons, code } = printableValue(compared, printableLine);
  const shown = figures.filter(({ name, change }) => !name.includes('{') || change === 'worse' || change === 'better');
  const rows = shown.map(({ name, before, after, change }) => {
    const text = (value: number): string =>
      name.endsWith('.rate') ? `${Number((100 * value).toPrecision(3))} %` : readableDuration(value);
    const cells = [before, after].map((value) => (value === null ? '–' : text(value)).padStart(CELL_COLUMNS)).join('');
    const [mark, format] = MARKS[change];
    return `${name.padEnd(FIGURE_COLUMNS)}${cells}  ${paint(format, mark)}`.trimEnd();
  });
  const worse = figures.filter(({ change }) => change === 'worse').length + missed.length;
  const word = reasons.length > 0 ? 'NOT COMPARABLE' : worse > 0 ? `${worse} WORSE` : 'NOTHING WORSE';
  const lines = [
    paint('bold', `${files[0]} → ${files[1]}`),
    ...settings.map(({ name, before, after }) => paint('yellow', `! ${name} differs: ${before} → ${after}`)),
    ...doubts.map((doubt) => paint('yellow', `! ${doubt}`)),
    '',
    paint('dim', `${''.padEnd(FIGURE_COLUMNS)}${'before'.padStart(CELL_COLUMNS)}${'after'.padStart(CELL_COLUMNS)}`),
    ...rows,
    ...missed.map((expr) => paint('red', `✗ missed, and met before: ${expr}`)),
    '',
    ...reasons.map((reason) => paint('red', `- ${reason}`)),
    paint('bold', word) + paint('dim', ' (beyond chance, and durations by half and 1 ms)'),
    ...(code === EXIT.conformant ? [] : [paint('red', `exit ${code}`)]),
  ];
  return `${lines.join('\n')}\n`;
}

export const fleetsJson = ({ files, code, ...comparison }: ComparedFleets): string =>
  `${printableJson({ files, exit_code: code, ...comparison }, 2)}\n`;
