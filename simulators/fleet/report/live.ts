/** What a running fleet shows to a person: a few lines that are redrawn on a terminal, or a line now and then elsewhere. */
import { readableDuration } from '../../../harness/common/durations.ts';
import { bar, LiveArea, type Output } from '../../../harness/common/terminal.ts';
import type { Tick } from '../result/result.ts';

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
  /** Why robots that should be online are not, if known. */
  trouble: string | undefined;
}

/** Time between lines where there is no terminal. */
const LINE_EVERY_MS = 5000;

/** Draws the newest second of a run. */
export class LiveView {
  readonly #area: LiveArea;
  #lastProgress: number | undefined;
  #lastLine = Number.NEGATIVE_INFINITY;

  constructor(output: Output) {
    this.#area = new LiveArea(output);
  }

  /** Call about once a second. */
  show(state: LiveState): void {
    if (this.#area.live) {
      this.#area.draw(panel(state));
    } else if (state.elapsedMs - this.#lastLine >= LINE_EVERY_MS) {
      this.#lastLine = state.elapsedMs;
      this.#area.line(oneLine(state));
    }
  }

  /** Shows the progress of a preparation, e.g. of generating keys. */
  progress(what: string, done: number, of: number, nowMs = performance.now()): void {
    this.#lastProgress ??= nowMs;
    const text = `${what} ${bar(done, of)} ${done}/${of}`;
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

function panel({ title, tick, phase, elapsedMs, remainingMs, errors, violations, trouble }: LiveState): string[] {
  const where = phase === undefined ? '' : `phase ${phase.number}/${phase.of} ${phase.name}  `;
  const head = `${title}  ${where}${bar(elapsedMs, elapsedMs + remainingMs)} ${times(elapsedMs, remainingMs)}`;
  if (tick === undefined) return [head];
  const rates = Object.fromEntries(Object.entries(tick.rates).filter(([, rate]) => rate > 0));
  const memory = `${Math.round(tick.rss_bytes / 2 ** 20)} MiB`;
  return [
    head,
    `robots   ${entries(tick.robots, String)}`,
    `a second ${entries(rates, (rate) => (rate < 10 ? rate.toFixed(1) : String(Math.round(rate)))) || 'nothing'}`,
    `p99      ${entries(tick.p99, readableDuration) || 'nothing'}`,
    `errors ${errors}  violations ${violations}  cpu ${tick.cpu.toFixed(2)} cores  memory ${memory}  loop stall ${readableDuration(tick.loop_max_ms)}`,
    ...(trouble === undefined ? [] : [`not online: ${trouble}`]),
  ];
}

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
