/** Shows the progress of a command in place on a terminal (60 columns suffice), elsewhere as a line about every 5 s. */
import { bar, hanging, LiveArea, type Output, type Paint, painter, wrap } from './terminal.ts';
import { readableDuration } from './units.ts';

export const LINE_EVERY_MS = 5000;
const INDENT = 2;
const WIDE = 80;

export type Row = readonly [label: string, text: string];

export class Display {
  readonly paint: Paint;
  readonly #area: LiveArea;
  readonly #output: Output;
  readonly #labels: number;
  #progress: { label: string; done: number; atMs: number; lineMs: number; whole: boolean } | undefined;

  constructor(output: Output, options: { labels: number; env?: Record<string, string | undefined> }) {
    this.#output = output;
    this.#area = new LiveArea(output);
    this.#labels = options.labels;
    this.paint = painter(output, options.env ?? { NO_COLOR: '1' });
  }

  get live(): boolean {
    return this.#area.live;
  }

  draw(rows: readonly Row[]): void {
    this.#area.draw(rows.flatMap((row) => this.#lines(row)));
  }

  progress(label: string, done: number, total: number, options: { doing?: string; nowMs?: number } = {}): void {
    const { doing = '', nowMs = performance.now() } = options;
    if (this.#progress?.label !== label) this.#progress = { label, done, atMs: nowMs, lineMs: nowMs, whole: false };
    const shown = this.#progress;
    const perSecond = (1000 * (done - shown.done)) / Math.max(nowMs - shown.atMs, 1);
    const drawn = bar(done, total, { columns: this.#columns < WIDE ? 12 : 20, paint: this.paint });
    const text = `${drawn} ${done}/${total}${pace(perSecond, total - done)}`;
    if (this.live) {
      const [line = ''] = hanging(label, [text], INDENT, this.#labels);
      this.#area.draw([doing === '' ? line : `${line}  ${this.paint('dim', doing)}`]);
    } else if (done === total ? !shown.whole : nowMs - shown.lineMs >= LINE_EVERY_MS) {
      shown.lineMs = nowMs;
      shown.whole = done === total;
      this.row(label, text);
    }
  }

  row(label: string, text: string): void {
    for (const line of this.#lines([label, text])) this.line(line);
  }

  line(text: string): void {
    this.#area.line(text);
  }

  keep(): void {
    this.#area.keep();
  }

  get #columns(): number {
    return this.#output.columns ?? WIDE;
  }

  #lines([label, text]: Row): string[] {
    return hanging(label, wrap(text, this.#columns - INDENT - this.#labels), INDENT, this.#labels).map((line) =>
      line.trimEnd(),
    );
  }
}

export const pace = (perSecond: number, left: number): string =>
  perSecond > 0 && left > 0
    ? `  ${Number(perSecond.toPrecision(2))}/s, ${readableDuration((1000 * left) / perSecond)} left`
    : '';
