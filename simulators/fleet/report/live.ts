/** What a running fleet shows to a person: a few lines that are redrawn on a terminal, or a line now and then elsewhere. */
import { readableDuration } from '../../../harness/common/durations.ts';
import { bar, hanging, LiveArea, type Output, sparkline, wrap } from '../../../harness/common/terminal.ts';
import type { Tick } from '../result/result.ts';
import type { ThresholdResult } from '../result/thresholds.ts';

export interface LiveState {
  title: string;
  /** The newest second. */
  tick: Tick | undefined;
  phase: { number: number; of: number; name: string } | undefined;
  elapsedMs: number;
  /** Until the schedule ends. */
  remainingMs: number;
  errors: number;
  violations: number;
  /** As they stand. */
  thresholds: readonly ThresholdResult[];
  /** Why robots that should be online are not, if known. */
  trouble: string | undefined;
}

/** Time between lines where there is no terminal. */
const LINE_EVERY_MS = 5000;

/** Draws the newest second of a run. */
export class LiveView {
  readonly #area: LiveArea;
  readonly #columns: () => number;
  /** The first figure of a preparation: rates count from there. */
  #began: { what: string; done: number; atMs: number } | undefined;
  readonly #ticks: Tick[] = [];
  #lastProgress: number | undefined;
  #lastLine = Number.NEGATIVE_INFINITY;

  constructor(output: Output) {
    this.#area = new LiveArea(output);
    this.#columns = () => output.columns ?? 80;
  }

  /** Call about once a second. */
  show(state: LiveState): void {
    if (state.tick !== undefined) this.#ticks.push(state.tick);
    if (this.#ticks.length > SPARKS) this.#ticks.shift();
    if (this.#area.live) {
      this.#area.draw(panel(state, this.#ticks, this.#columns()));
    } else if (state.elapsedMs - this.#lastLine >= LINE_EVERY_MS) {
      this.#lastLine = state.elapsedMs;
      this.#area.line(oneLine(state));
    }
  }

  /** Shows the progress of a preparation, e.g. of generating keys. */
  progress(what: string, done: number, of: number, nowMs = performance.now()): void {
    this.#lastProgress ??= nowMs;
    if (this.#began?.what !== what) this.#began = { what, done, atMs: nowMs };
    const perSecond = (1000 * (done - this.#began.done)) / Math.max(nowMs - this.#began.atMs, 1);
    const text = `${what} ${bar(done, of)} ${done}/${of}${pace(perSecond, of - done)}`;
    if (this.#area.live) {
      this.#area.draw([text]);
    } else if (done === of || nowMs - this.#lastProgress >= LINE_EVERY_MS) {
      this.#lastProgress = nowMs;
      this.#area.line(text);
    }
  }

  /** Leaves what is drawn on the screen; what follows begins below it. */
  end(): void {
    this.#area.keep();
  }
}

/** Seconds that a sparkline shows. */
const SPARKS = 24;
const LABEL = 9;

function panel(state: LiveState, ticks: readonly Tick[], columns: number): string[] {
  const { title, tick, phase, elapsedMs, remainingMs, errors, violations, thresholds, trouble } = state;
  const row = (label: string, text: string): string[] => hanging(label, wrap(text, columns - LABEL), 0, LABEL);
  const where = phase === undefined ? '' : `phase ${phase.number}/${phase.of} ${phase.name}  `;
  const head = row(
    title.slice(0, LABEL - 1),
    `${where}${bar(elapsedMs, elapsedMs + remainingMs, { columns: 12 })} ${times(elapsedMs, remainingMs)}`,
  );
  if (tick === undefined) return head;
  const rates = Object.fromEntries(Object.entries(tick.rates).filter(([, rate]) => rate > 0));
  const memory = `${Math.round(tick.rss_bytes / 2 ** 20)} MiB`;
  const perSecond = entries(rates, (rate) => (rate < 10 ? rate.toFixed(1) : String(Math.round(rate))));
  const p99 = entries(tick.p99, readableDuration);
  const sparks = ticks.map((of) => Object.values(of.rates).reduce((sum, rate) => sum + rate, 0));
  return [
    ...head,
    ...row('robots', `${entries(tick.robots, String)}${phase?.name === 'ramp' ? starting(ticks) : ''}`),
    ...(perSecond === '' ? [] : row('a second', `${sparkline(sparks)} ${perSecond}`)),
    ...(p99 === '' ? [] : row('p99', p99)),
    ...(thresholds.length === 0 ? [] : row('so far', thresholds.map(standing).join('  '))),
    ...row(
      '',
      `errors ${errors}  violations ${violations}  cpu ${tick.cpu.toFixed(2)} cores  memory ${memory}  stall ${readableDuration(tick.loop_max_ms)}`,
    ),
    ...(trouble === undefined ? [] : row('offline', `not online: ${trouble}`)),
  ];
}

const standing = ({ expr, value, ok }: ThresholdResult): string => `${value === null ? '·' : ok ? '✓' : '✗'} ${expr}`;

/** How fast robots come online, and how long the rest takes at that rate. */
function starting(ticks: readonly Tick[]): string {
  const [first, last] = [ticks[0], ticks.at(-1)];
  if (first === undefined || last === undefined || last.at_ms <= first.at_ms) return '';
  const online = (tick: Tick): number => tick.robots['online'] ?? 0;
  const all = Object.values(last.robots).reduce((sum, count) => sum + count, 0);
  return pace((1000 * (online(last) - online(first))) / (last.at_ms - first.at_ms), all - online(last));
}

/** A rate, and the time that what is left takes at it. */
const pace = (perSecond: number, left: number): string =>
  perSecond > 0 && left > 0
    ? `  ${Number(perSecond.toPrecision(2))}/s, ${readableDuration((1000 * left) / perSecond)} left`
    : '';

function oneLine({ tick, phase, elapsedMs, remainingMs, errors, violations, trouble }: LiveState): string {
  return [
    times(elapsedMs, remainingMs),
    `phase ${phase?.number ?? '-'}/${phase?.of ?? '-'} ${phase?.name ?? ''}`,
    `robots ${entries(tick?.robots ?? {}, String)}`,
    `p99 ${entries(tick?.p99 ?? {}, readableDuration) || '-'}`,
    `errors ${errors}`,
    `violations ${violations}`,
    ...(trouble === undefined ? [] : [`not online: ${trouble}`]),
  ].join(' · ');
}

const times = (elapsedMs: number, remainingMs: number): string =>
  `${readableDuration(elapsedMs)}, ${readableDuration(remainingMs)} to go`;

const entries = (map: Record<string, number>, write: (value: number) => string): string =>
  Object.entries(map)
    .map(([name, value]) => `${name} ${write(value)}`)
    .join('  ');
