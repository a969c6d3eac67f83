/** What the demo shows: one row for each stage, with its progress while it goes on, and a summary. */
import { Display } from '../../common/display.ts';
import { readableDuration } from '../../common/durations.ts';
import type { Output } from '../../common/terminal.ts';
import type { Report } from '../../runner/types.ts';

const LABELS = 18;

interface Outcome {
  robots: number;
  latencies: { p50: number; p99: number };
  missed: readonly string[];
  violations: number;
  reports: readonly Report[];
  folder: string;
}

export class DemoScreen {
  readonly #display: Display;

  constructor(output: Output, env: Record<string, string | undefined>) {
    this.#display = new Display(output, { labels: LABELS, env });
  }

  title(name: string, text: string): void {
    const { paint } = this.#display;
    this.#display.line(`\n  ${paint('bold', name)}  ${paint('dim', text)}\n`);
  }

  line(text: string): void {
    this.#display.line(`  ${text}`);
  }

  /** A stage that has ended. `startedMs`: says how long it took. */
  done(label: string, text: string, { good = true, startedMs = -1 } = {}): void {
    const { paint } = this.#display;
    const took = startedMs < 0 ? '' : `  ${paint('dim', readableDuration(performance.now() - startedMs))}`;
    this.#display.row(`${good ? paint('green', '✓') : paint('red', '✗')} ${label}`, `${text}${took}`);
  }

  stage(label: string, of: number): Stage {
    return new Stage(this, this.#display, label, of);
  }

  summary({ robots, latencies, missed, violations, reports, folder }: Outcome): void {
    const passed = reports.reduce((sum, { summary }) => sum + summary.pass, 0);
    const failed = reports.reduce((sum, { summary }) => sum + summary.fail, 0);
    const good =
      failed === 0 && missed.length === 0 && violations === 0 && reports.every((report) => report.exit_code === 0);
    const { paint } = this.#display;
    const parts = [
      `${robots} robots`,
      `roll-out p50 ${readableDuration(latencies.p50)}, p99 ${readableDuration(latencies.p99)}`,
      `${passed} checks passed${failed > 0 ? `, ${failed} failed` : ''}`,
      ...(missed.length > 0 ? [`${missed.length} robots missed the roll-out: ${missed.slice(0, 3).join(', ')}`] : []),
      ...(violations > 0 ? [`${violations} stream violations`] : []),
    ];
    const verdict = paint(['bold', good ? 'green' : 'red'], good ? 'Everything passed' : 'Something failed');
    const files = ['fleet', ...reports.map(({ api }) => api)].map((name) => `${folder}/${name}.html`);
    this.#display.line('');
    this.#display.row(verdict, parts.join('\n'));
    this.#display.row(paint('dim', 'reports'), files.join('\n'));
    this.#display.row(paint('dim', 'your own agent'), 'muster check device --socket PATH');
    this.#display.row(paint('dim', 'to develop'), 'muster simulate device --help');
    this.#display.line('');
  }
}

/** A stage that goes on. */
class Stage {
  readonly #screen: DemoScreen;
  readonly #display: Display;
  readonly #label: string;
  readonly #of: number;
  readonly #startedMs = performance.now();
  #steps = 0;
  #ended = false;

  constructor(screen: DemoScreen, display: Display, label: string, of: number) {
    this.#screen = screen;
    this.#display = display;
    this.#label = label;
    this.#of = of;
  }

  /** Nothing once it has ended: a fleet tells of its robots for as long as it runs. */
  update(done: number, doing: string): void {
    if (this.#ended) return;
    this.#display.progress(`  ${this.#label}`, done, this.#of, { doing });
  }

  /** One more is done. */
  step(doing: string): void {
    this.#steps += 1;
    this.update(this.#steps, doing);
  }

  end(text: string, done = this.#of): void {
    this.#ended = true;
    const startedMs = this.#startedMs;
    this.#screen.done(this.#label, `${done}/${this.#of} ${text}`, { good: done === this.#of, startedMs });
  }

  verdict({ summary, exit_code }: Report): void {
    this.#ended = true;
    const counts = [`${summary.pass} passed`, `${summary.fail} failed`];
    if (summary.warn > 0) counts.push(`${summary.warn} warned`);
    if (summary.blocked > 0) counts.push(`${summary.blocked} blocked`);
    if (summary.not_applicable > 0) counts.push(`${summary.not_applicable} not applicable`);
    this.#screen.done(this.#label, counts.join(' · '), { good: exit_code === 0, startedMs: this.#startedMs });
  }
}
