/** What the demo shows: one line for each stage, redrawn in place on a terminal and written once elsewhere. */
import { readableDuration } from '../../common/durations.ts';
import { bar, type Output, type Paint, painter } from '../../common/terminal.ts';
import type { Report } from '../../runner/types.ts';

const LABEL = 14;
const BAR = 24;

interface Outcome {
  robots: number;
  latencies: { p50: number; p99: number };
  missed: readonly string[];
  violations: number;
  reports: readonly Report[];
  folder: string;
}

export class DemoScreen {
  readonly #out: Output;
  readonly #paint: Paint;
  readonly #live: boolean;

  constructor(out: Output, env: Record<string, string | undefined>) {
    this.#out = out;
    this.#paint = painter(out, env);
    this.#live = out.isTTY === true;
  }

  title(name: string, text: string): void {
    this.#out.write(`\n  ${this.#paint('bold', name)}  ${this.#paint('dim', text)}\n\n`);
  }

  line(text: string): void {
    this.#out.write(`${this.#live ? '\r\u001b[K' : ''}  ${text}\n`);
  }

  done(label: string, text: string): void {
    this.line(`${this.#paint('green', '✓')} ${label.padEnd(LABEL)}${text}`);
  }

  bar(label: string, of: number): DemoBar {
    return new DemoBar(
      label,
      of,
      this.#paint,
      this.#live ? (text) => this.#out.write(`\r\u001b[K  ${text}`) : undefined,
      (text) => this.line(text),
      this.#out.columns ?? 100,
    );
  }

  summary({ robots, latencies, missed, violations, reports, folder }: Outcome): void {
    const passed = reports.reduce((sum, { summary }) => sum + summary.pass, 0);
    const failed = reports.reduce((sum, { summary }) => sum + summary.fail, 0);
    const good =
      failed === 0 && missed.length === 0 && violations === 0 && reports.every((report) => report.exit_code === 0);
    const parts = [
      `${robots} robots`,
      `roll-out p50 ${readableDuration(latencies.p50)}, p99 ${readableDuration(latencies.p99)}`,
      `${passed} checks passed${failed > 0 ? `, ${failed} failed` : ''}`,
      ...(missed.length > 0 ? [`${missed.length} robots missed the roll-out: ${missed.slice(0, 3).join(', ')}`] : []),
      ...(violations > 0 ? [`${violations} stream violations`] : []),
    ];
    this.#out.write(
      `\n  ${this.#paint(['bold', good ? 'green' : 'red'], good ? 'Everything passed' : 'Something failed')}  ${parts.join(' · ')}\n`,
    );
    this.#out.write(
      `  ${this.#paint('dim', 'reports')}  ${['fleet', ...reports.map(({ api }) => api)].map((name) => `${folder}/${name}.html`).join('  ')}\n\n`,
    );
    this.#out.write(
      `  ${this.#paint('dim', 'next')}     muster check device --socket PATH   your own agent\n           muster simulate device --help       one to develop against\n\n`,
    );
  }
}

class DemoBar {
  readonly #label: string;
  readonly #of: number;
  readonly #paint: Paint;
  readonly #redraw: ((text: string) => void) | undefined;
  readonly #write: (text: string) => void;
  readonly #columns: number;
  readonly #started = performance.now();
  #steps = 0;

  constructor(
    label: string,
    of: number,
    paint: Paint,
    redraw: ((text: string) => void) | undefined,
    write: (text: string) => void,
    columns: number,
  ) {
    this.#label = label;
    this.#of = of;
    this.#paint = paint;
    this.#redraw = redraw;
    this.#write = write;
    this.#columns = columns;
  }

  update(done: number, doing: string): void {
    const shown = bar(done, this.#of, { columns: BAR, paint: this.#paint });
    const room = Math.max(0, this.#columns - LABEL - BAR - 20);
    this.#redraw?.(
      `  ${this.#label.padEnd(LABEL)}${shown} ${done}/${this.#of}  ${this.#paint('dim', doing.slice(0, room))}`,
    );
  }

  /** One more is done. */
  step(doing: string): void {
    this.#steps += 1;
    this.update(this.#steps, doing);
  }

  end(text: string, done = this.#of): void {
    this.#close(done === this.#of ? this.#paint('green', '✓') : this.#paint('red', '✗'), `${done}/${this.#of} ${text}`);
  }

  verdict({ summary, exit_code }: Report): void {
    const counts = [`${summary.pass} passed`, `${summary.fail} failed`];
    if (summary.warn > 0) counts.push(`${summary.warn} warned`);
    if (summary.blocked > 0) counts.push(`${summary.blocked} blocked`);
    if (summary.not_applicable > 0) counts.push(this.#paint('dim', `${summary.not_applicable} not applicable`));
    this.#close(exit_code === 0 ? this.#paint('green', '✓') : this.#paint('red', '✗'), counts.join(' · '));
  }

  #close(mark: string, text: string): void {
    this.#write(
      `${mark} ${this.#label.padEnd(LABEL)}${text}  ${this.#paint('dim', readableDuration(performance.now() - this.#started))}`,
    );
  }
}
