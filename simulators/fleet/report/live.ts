/** What a person sees while a fleet runs: a few lines that redraw on a terminal, one line now and then elsewhere. */
import type { Tick } from '../result/result.ts';
import { readableMs } from '../scenario/units.ts';

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
  /** Why robots that should be online are not, when anybody has said. */
  trouble: string | undefined;
}

/** Written to by LiveView; `process.stderr` fits. */
export interface Screen {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

/** Between lines where there is no terminal. */
const LINE_EVERY_MS = 5000;

export class LiveView {
  readonly #screen: Screen;
  #drawn = 0;
  #lastProgress: number | undefined;
  #lastLine = Number.NEGATIVE_INFINITY;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  /** Call about once a second. */
  show(state: LiveState): void {
    if (this.#screen.isTTY === true) {
      const width = this.#screen.columns ?? 80;
      const lines = panel(state).map((line) => (line.length > width ? `${line.slice(0, width - 1)}…` : line));
      this.#screen.write(`${this.#erase()}${lines.join('\n')}\n`);
      this.#drawn = lines.length;
      return;
    }
    if (state.elapsedMs - this.#lastLine < LINE_EVERY_MS) return;
    this.#lastLine = state.elapsedMs;
    this.#screen.write(`${oneLine(state)}\n`);
  }

  /** Progress of something before or after the phases, e.g. making keys. */
  progress(what: string, done: number, of: number, nowMs = performance.now()): void {
    if (this.#lastProgress === undefined) this.#lastProgress = nowMs;
    const text = `${what} ${bar(done, of)} ${done}/${of}`;
    if (this.#screen.isTTY === true) {
      this.#screen.write(`${this.#erase()}${text}\n`);
      this.#drawn = 1;
    } else if (done === of || nowMs - this.#lastProgress >= LINE_EVERY_MS) {
      this.#lastProgress = nowMs;
      this.#screen.write(`${text}\n`);
    }
  }

  /** Leaves what is drawn on the screen; the next view begins below it. */
  end(): void {
    this.#drawn = 0;
  }

  #erase(): string {
    return this.#drawn === 0 ? '' : `\u001b[${this.#drawn}A\u001b[0J`;
  }
}

function panel(state: LiveState): string[] {
  const { tick, phase } = state;
  const lines = [
    `${state.title}  ${phase === undefined ? '' : `phase ${phase.number}/${phase.of} ${phase.name}  `}${bar(state.elapsedMs, state.elapsedMs + state.remainingMs)} ${readableMs(state.elapsedMs)} gone, ${readableMs(state.remainingMs)} to go`,
  ];
  if (tick === undefined) return lines;
  lines.push(`robots   ${entries(tick.robots, String)}`);
  const busy = Object.fromEntries(Object.entries(tick.rates).filter(([, rate]) => rate > 0));
  lines.push(
    `a second ${entries(busy, (rate) => (rate < 10 ? rate.toFixed(1) : String(Math.round(rate)))) || 'nothing'}`,
  );
  lines.push(`p99      ${entries(tick.p99, readableMs) || 'nothing'}`);
  lines.push(
    `errors ${state.errors}  violations ${state.violations}  cpu ${tick.cpu.toFixed(2)} cores  memory ${Math.round(tick.rss_bytes / 2 ** 20)} MiB  loop stall ${readableMs(tick.loop_max_ms)}`,
  );
  if (state.trouble !== undefined) lines.push(`not online: ${state.trouble}`);
  return lines;
}

function oneLine({ tick, phase, elapsedMs, remainingMs, errors, violations, trouble }: LiveState): string {
  const robots = entries(tick?.robots ?? {}, String);
  const p99 = entries(tick?.p99 ?? {}, readableMs);
  return `${readableMs(elapsedMs)}, ${readableMs(remainingMs)} to go · phase ${phase?.number ?? '-'}/${phase?.of ?? '-'} ${phase?.name ?? ''} · robots ${robots} · p99 ${p99 || '-'} · errors ${errors} · violations ${violations}${trouble === undefined ? '' : ` · not online: ${trouble}`}`;
}

const entries = (map: Record<string, number>, write: (value: number) => string): string =>
  Object.entries(map)
    .map(([name, value]) => `${name} ${write(value)}`)
    .join('  ');

function bar(done: number, of: number): string {
  const full = of <= 0 ? 20 : Math.min(20, Math.round((done / of) * 20));
  return `[${'█'.repeat(full)}${'░'.repeat(20 - full)}]`;
}
