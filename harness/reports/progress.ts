/** What is going on right now: one line drawn again on a terminal, a line now and then elsewhere. */
import { LiveArea, type Output, type Paint, spinner, width } from '../common/terminal.ts';
import type { CheckResult } from '../runner/types.ts';

const REDRAW_MS = 100;
const REMIND_MS = 15_000;
/** Room for the spinner, and for what says that more is going on. */
const SPARE = 8;

/** Progress of one run of checks. */
export class Progress {
  readonly #output: Output;
  readonly #area: LiveArea;
  readonly #paint: Paint;
  readonly #now: () => number;
  readonly #running = new Map<string, number>();
  #total = 0;
  #done = 0;
  #failed = 0;
  #blocked = 0;
  #drawings = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param now milliseconds of a monotonic clock */
  constructor(output: Output, paint: Paint, now: () => number = () => performance.now()) {
    this.#output = output;
    this.#area = new LiveArea(output);
    this.#paint = paint;
    this.#now = now;
  }

  /** Begins to show how many of `total` checks have ended. */
  start(total: number): void {
    this.#total = total;
    const { live } = this.#area;
    this.#timer = setInterval(() => (live ? this.#redraw() : this.#remind()), live ? REDRAW_MS : REMIND_MS);
    this.#timer.unref();
  }

  begin(id: string): void {
    this.#running.set(id, this.#now());
  }

  end(result: CheckResult): void {
    this.#running.delete(result.id);
    this.#done += 1;
    if (result.outcome === 'fail') this.#failed += 1;
    if (result.outcome === 'blocked') this.#blocked += 1;
  }

  /** Leaves the terminal as it was. */
  stop(): void {
    clearInterval(this.#timer);
    this.#area.clear();
  }

  /** `41 of 88 · 1 failed · waiting for device.events.long-lived (31 s), …`. */
  line(columns = this.#output.columns ?? 80): string {
    const oldest = [...this.#running].sort(([, a], [, b]) => a - b);
    const counts = { failed: this.#failed, blocked: this.#blocked };
    const parts = Object.entries(counts).flatMap(([name, count]) => (count > 0 ? [`${count} ${name}`] : []));
    let text = [`${this.#done} of ${this.#total}`, ...parts].join(' · ');
    for (const [index, [id, since]] of oldest.entries()) {
      const next = `${index === 0 ? ' · waiting for ' : ', '}${id} (${Math.floor((this.#now() - since) / 1000)} s)`;
      if (width(text) + width(next) > columns - SPARE) return `${text}${index === 0 ? '' : ', …'}`;
      text += next;
    }
    return text;
  }

  #redraw(): void {
    this.#drawings += 1;
    this.#area.draw([`${this.#paint('cyan', spinner(this.#drawings))} ${this.line()}`]);
  }

  #remind(): void {
    this.#area.line(`… ${this.line(160)}`);
  }
}
