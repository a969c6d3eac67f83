/** What is going on right now: one line that is rewritten on a terminal, a line now and then elsewhere. */
import type { CheckResult } from '../runner/types.ts';
import { type Paint, width } from './style.ts';
import type { Output } from './types.ts';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const REDRAW_MS = 100;
const REMIND_MS = 15_000;

export class Progress {
  readonly #output: Output;
  readonly #paint: Paint;
  readonly #now: () => number;
  readonly #running = new Map<string, number>();
  #total = 0;
  #done = 0;
  #red = 0;
  #frame = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(output: Output, paint: Paint, now: () => number = () => performance.now()) {
    this.#output = output;
    this.#paint = paint;
    this.#now = now;
  }

  start(total: number): void {
    this.#total = total;
    const live = this.#output.isTTY === true;
    this.#timer = setInterval(() => (live ? this.#redraw() : this.#remind()), live ? REDRAW_MS : REMIND_MS);
    this.#timer.unref();
  }

  begin(id: string): void {
    this.#running.set(id, this.#now());
  }

  end(result: CheckResult): void {
    this.#running.delete(result.id);
    this.#done += 1;
    if (result.outcome === 'fail' || result.outcome === 'blocked') this.#red += 1;
  }

  /** Leaves the terminal as it was. */
  stop(): void {
    clearInterval(this.#timer);
    if (this.#output.isTTY === true) this.#output.write('\r\x1b[K');
  }

  /** `41 of 88 · 1 red · waiting for device.events.long-lived (31 s), …`. */
  line(columns = this.#output.columns ?? 80): string {
    const oldest = [...this.#running].sort(([, a], [, b]) => a - b);
    const parts = [`${this.#done} of ${this.#total}`, ...(this.#red > 0 ? [`${this.#red} red`] : [])];
    let text = parts.join(' · ');
    for (const [index, [id, since]] of oldest.entries()) {
      const next = `${index === 0 ? ' · waiting for ' : ', '}${id} (${Math.floor((this.#now() - since) / 1000)} s)`;
      if (width(text) + width(next) > columns - 8) return `${text}${index === 0 ? '' : ', …'}`;
      text += next;
    }
    return text;
  }

  #redraw(): void {
    this.#frame = (this.#frame + 1) % FRAMES.length;
    this.#output.write(`\r\x1b[K${this.#paint('cyan', FRAMES[this.#frame] ?? '')} ${this.line()}`);
  }

  #remind(): void {
    this.#output.write(`… ${this.line(160)}\n`);
  }
}
