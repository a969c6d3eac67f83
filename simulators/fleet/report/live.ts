import { Display, LINE_EVERY_MS, pace, type Row } from '../../../harness/common/display.ts';
import { bar, type Output, sparkline } from '../../../harness/common/terminal.ts';
import { readableDuration } from '../../../harness/common/units.ts';
import { ofWhole } from '../measure/metrics.ts';
import { type Judged, judgedText, type Tick } from '../result/result.ts';
import type { ThresholdResult } from '../result/thresholds.ts';

export interface LiveState {
  title: string;
  tick: Tick;
  phase: { number: number; of: number; name: string };
  elapsedMs: number;
  remainingMs: number;
  errors: number;
  violations: number;
  judged?: Judged | undefined;
  thresholds: readonly ThresholdResult[];
  trouble: string | undefined;
}

export class LiveView {
  readonly #display: Display;
  readonly #ticks: Tick[] = [];
  #lastLine = Number.NEGATIVE_INFINITY;

  constructor(output: Output, env?: Record<string, string | undefined>) {
    this.#display = new Display(output, { labels: 9, ...(env && { env }) });
  }

  show(state: LiveState): void {
    this.#ticks.push(state.tick);
    if (this.#ticks.length > 24) this.#ticks.shift();
    if (this.#display.live) {
      this.#display.draw(panel(state, this.#ticks));
    } else if (state.elapsedMs - this.#lastLine >= LINE_EVERY_MS) {
      this.#lastLine = state.elapsedMs;
      this.#display.line(oneLine(state));
    }
  }

  progress(what: string, done: number, of: number): void {
    this.#display.progress(what, done, of);
  }

  end(): void {
    this.#display.keep();
  }
}

function panel(state: LiveState, ticks: readonly Tick[]): Row[] {
  const { title, tick, phase, elapsedMs, remainingMs, errors, violations, judged, thresholds, trouble } = state;
  const where = `${phase.number}/${phase.of} ${phase.name} of ${title}`;
  const done = bar(elapsedMs, elapsedMs + remainingMs, { columns: 12 });
  const rates = Object.fromEntries(Object.entries(tick.rates).filter(([, rate]) => rate > 0));
  const memory = `${Math.round(tick.rss_bytes / 2 ** 20)} MiB`;
  const perSecond = entries(rates, (rate) => (rate < 10 ? rate.toFixed(1) : String(Math.round(rate))));
  const sparks = ticks.map((of) => Object.values(of.rates).reduce((sum, rate) => sum + rate, 0));
  const standings = thresholds.map(({ expr, value, ok }) => `${value === null ? '·' : ok ? '✓' : '✗'} ${expr}`);
  const rows: Row[] = [
    ['phase', `${where}  ${done} ${times(elapsedMs, remainingMs)}`],
    ['robots', `${entries(tick.robots, String)}${phase.name === 'ramp' ? starting(ticks) : ''}`],
    ['a second', perSecond === '' ? '' : `${sparkline(sparks)} ${perSecond}`],
    ['p99', entries(ofWhole(tick.p99), readableDuration)],
    ['so far', standings.join('  ')],
    ['errors', `${errors}  violations ${violations}`],
    ['judged', judged === undefined ? '' : [judgedText(judged), ...broken(judged)].join('  ')],
    ['load', `cpu ${tick.cpu.toFixed(2)} cores  memory ${memory}  stall ${readableDuration(tick.loop_max_ms)}`],
    ['offline', trouble === undefined ? '' : `not online: ${trouble}`],
  ];
  return rows.filter(([, text]) => text !== '');
}

const broken = (judged?: Judged): string[] =>
  judged?.findings.length ? [`rules broken ${judged.findings.length}`] : [];

function starting(ticks: readonly Tick[]): string {
  const [first, last] = [ticks[0], ticks.at(-1)];
  if (first === undefined || last === undefined || last.at_ms <= first.at_ms) return '';
  const online = (tick: Tick): number => tick.robots['online'] ?? 0;
  const all = Object.values(last.robots).reduce((sum, count) => sum + count, 0);
  return pace((1000 * (online(last) - online(first))) / (last.at_ms - first.at_ms), all - online(last));
}

function oneLine({ tick, phase, elapsedMs, remainingMs, errors, violations, judged, trouble }: LiveState): string {
  return [
    times(elapsedMs, remainingMs),
    `phase ${phase.number}/${phase.of} ${phase.name}`,
    `robots ${entries(tick.robots, String)}`,
    `p99 ${entries(ofWhole(tick.p99), readableDuration) || '-'}`,
    `errors ${errors}`,
    `violations ${violations}`,
    ...broken(judged),
    ...(trouble === undefined ? [] : [`not online: ${trouble}`]),
  ].join(' · ');
}

const times = (elapsedMs: number, remainingMs: number): string =>
  `${readableDuration(elapsedMs)}, ${readableDuration(remainingMs)} to go`;

const entries = (map: Record<string, number>, write: (value: number) => string): string =>
  Object.entries(map)
    .map(([name, value]) => `${name} ${write(value)}`)
    .join('  ');
